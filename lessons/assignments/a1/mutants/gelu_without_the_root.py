"""Your factor is 2 / pi; it is its square root."""

FAILS = "a1.q2.gelu"


def gelu(x):
    return 0.5 * x * (1.0 + np.tanh(2.0 / np.pi * (x + 0.044715 * x**3)))
