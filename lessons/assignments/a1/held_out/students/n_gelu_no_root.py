"""Forgets the root: 2/pi."""

FAILS = "a1.q2.gelu"
MISTAKE = "gelu_without_the_root"


def gelu(x):
    c = 2 / np.pi
    y = np.tanh(c * (x + 0.044715 * x**3))
    return 0.5 * x + 0.5 * x * y
