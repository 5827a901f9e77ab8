"""Swaps the signs of both terms and returns minus the mirror image."""

FAILS = "a1.q2.gelu"
MISTAKE = "gelu_outside"


def gelu(x):
    return 0.5 * x * (np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)) - 1)
