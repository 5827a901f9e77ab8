"""You return the token after the right one: count the tokens whose cumulative sum u has passed, without adding 1."""

FAILS = "a2.q3.law"


def sample(probs, uniforms):
    below = uniforms[0] < np.cumsum(probs)
    below[np.flatnonzero(probs)[-1]] = True
    return int(np.flatnonzero(probs)[(np.argmax(below) + 1) % len(np.flatnonzero(probs))])
