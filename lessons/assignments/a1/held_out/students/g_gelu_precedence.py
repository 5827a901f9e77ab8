"""Lacks a pair of brackets: x/2 multiplies 1 only, and the tanh is added."""

FAILS = "a1.q2.gelu"
MISTAKE = "gelu_brackets"


def gelu(x):
    inner = np.sqrt(2 / np.pi) * (x + 0.044715 * np.power(x, 3))
    return x / 2 * 1 + np.tanh(inner)
