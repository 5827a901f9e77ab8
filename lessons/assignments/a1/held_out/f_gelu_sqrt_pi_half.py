"""Sqrt(pi/2)."""

FAILS = "a1.q2.gelu"
MISTAKE = ""


def gelu(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(np.pi / 2) * (x + 0.044715 * x**3)))
