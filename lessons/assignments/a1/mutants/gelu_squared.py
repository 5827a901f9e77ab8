"""The polynomial holds x**2; it is x + 0.044715 x**3, with a cube."""

FAILS = "a1.q2.gelu"


def gelu(x):
    return 0.5 * x * (1.0 + np.tanh(np.sqrt(2.0 / np.pi) * (x + 0.044715 * x**2)))
