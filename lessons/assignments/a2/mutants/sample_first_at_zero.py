"""At u = 0 you draw token 0 even if its probability is 0: take the first token whose cumulative sum is greater than u."""

FAILS = "a2.q3.impossible"


def sample(probs, uniforms):
    return min(int(np.searchsorted(np.cumsum(probs), uniforms[0], side="left")), int(np.flatnonzero(probs)[-1]))
