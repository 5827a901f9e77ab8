"""You toss a new coin for each token with its probability; tokens before it have used some of that up. Add the probabilities up and compare one uniform with the sums."""

FAILS = "a2.q3.law"


def sample(probs, uniforms):
    tossed = np.flatnonzero(uniforms < probs)
    return int(tossed[0]) if len(tossed) else int(np.argmax(probs))
