"""np.searchsorted with its default side."""

FAILS = "a2.q3.impossible"
MISTAKE = "sample_first_at_zero"


def sample(probs, uniforms):
    place = int(np.searchsorted(np.cumsum(probs), uniforms[0]))
    support = np.flatnonzero(probs)
    return min(place, int(support[-1]))
