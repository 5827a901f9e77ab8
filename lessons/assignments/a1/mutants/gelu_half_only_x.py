"""A pair of brackets is missing: the 1 is added outside; x/2 multiplies the whole sum 1 + tanh(...)."""

FAILS = "a1.q2.gelu"


def gelu(x):
    return 1.0 + 0.5 * x * np.tanh(np.sqrt(2.0 / np.pi) * (x + 0.044715 * x**3))
