"""Subtracts the tanh, which mirrors the curve."""

FAILS = "a1.q2.gelu"
MISTAKE = "gelu_inside"


def gelu(x):
    t = np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x * x * x))
    return (x - x * t) / 2
