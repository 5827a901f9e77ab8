"""Halves x but not x times the tanh."""

FAILS = "a1.q2.gelu"
MISTAKE = "gelu_ends"


def gelu(x):
    return 0.5 * x + x * np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))
