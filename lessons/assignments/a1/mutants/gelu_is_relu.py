"""This is relu, not gelu: it is exactly 0 for negative numbers."""

FAILS = "a1.q2.gelu"


def gelu(x):
    return np.maximum(x, 0.0)
