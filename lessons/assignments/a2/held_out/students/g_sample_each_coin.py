"""Tosses a coin of its own for each token, and takes the first that comes up."""

FAILS = "a2.q3.law"
MISTAKE = "sample_a_coin_for_each"


def sample(probs, uniforms):
    for token, (prob, u) in enumerate(zip(probs, uniforms)):
        if u < prob:
            return token
    return int(np.argmax(probs))
