"""Cuts negative values off to save time."""

FAILS = "a1.q2.gelu"
MISTAKE = "gelu_negative"


def gelu(x):
    x = np.maximum(x, 0)
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
