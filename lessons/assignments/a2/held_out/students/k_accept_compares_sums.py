"""Compares the distribution functions up to the token instead of the probabilities."""

FAILS = "a2.q1.accept"


def accept(p, q, token, u):
    return bool(u * np.sum(q[: token + 1]) < np.sum(p[: token + 1]))
