"""Puts the root inside the brackets with x and leaves the cube's factor outside of the tanh."""

FAILS = "a1.q2.gelu"
MISTAKE = "gelu_ends"


def gelu(x):
    root = (2 / np.pi) ** 0.5
    return 0.5 * x * (1 + np.tanh(root * x) + 0.044715 * x**3)
