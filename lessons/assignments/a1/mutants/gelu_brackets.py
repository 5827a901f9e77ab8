"""A pair of brackets is missing: x/2 multiplies the whole sum 1 + tanh(...)."""

FAILS = "a1.q2.gelu"


def gelu(x):
    return 0.5 * x * 1.0 + np.tanh(np.sqrt(2.0 / np.pi) * (x + 0.044715 * x**3))
