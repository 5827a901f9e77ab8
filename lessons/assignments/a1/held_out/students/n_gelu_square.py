"""Squares x inside of the tanh instead of cubing it."""

FAILS = "a1.q2.gelu"
MISTAKE = "gelu_squared"


def gelu(x):
    inner = x + 0.044715 * np.power(x, 2)
    return (x / 2) * (1 + np.tanh(np.sqrt(2 / np.pi) * inner))
