"""The likeliest."""

FAILS = "a2.q3.law"
MISTAKE = "sample_argmax"


def sample(probs, uniforms):
    return int(np.argmax(probs))
