"""Searchsorted without side, u = 0 hits token 0."""

FAILS = "a2.q3.impossible"
MISTAKE = "sample_first_at_zero"


def sample(probs, uniforms):
    return int(min(np.searchsorted(np.cumsum(probs), uniforms[0]), len(probs) - 1))
