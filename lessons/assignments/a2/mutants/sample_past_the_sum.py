"""Where the sum of probs rounds to less than 1, a large u falls behind it and you draw an impossible token."""

FAILS = "a2.q3.impossible"


def sample(probs, uniforms):
    return min(int(np.searchsorted(np.cumsum(probs), uniforms[0], side="right")), len(probs) - 1)
