"""The mode."""

FAILS = "a2.q3.law"
MISTAKE = "sample_argmax"


def sample(probs, uniforms):
    best = 0
    for token, prob in enumerate(probs):
        if prob > probs[best]:
            best = token
    return best
