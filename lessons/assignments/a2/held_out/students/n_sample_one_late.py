"""Returns the token after the one whose sum exceeds u."""

FAILS = "a2.q3.law"
MISTAKE = "sample_next_id"


def sample(probs, uniforms):
    total = 0.0
    for token, prob in enumerate(probs):
        if total > uniforms[0]:
            return token
        total += prob
    return int(np.flatnonzero(probs)[-1])
