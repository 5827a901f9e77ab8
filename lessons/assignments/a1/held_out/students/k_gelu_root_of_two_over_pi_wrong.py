"""Computes sqrt(2) / pi."""

FAILS = "a1.q2.gelu"
MISTAKE = "gelu_inside"


def gelu(x):
    c = np.sqrt(2) / np.pi
    u = c * x * (1 + 0.044715 * x * x)
    return x * (1 + np.tanh(u)) / 2
