"""The largest p * u."""

FAILS = "a2.q3.law"
MISTAKE = ""


def sample(probs, uniforms):
    return int(np.argmax(probs * uniforms))
