"""Slips a decimal point: 0.44715."""

FAILS = "a1.q2.gelu"
MISTAKE = "gelu_wrong_constant"


def gelu(x):
    a = np.sqrt(2 / np.pi) * (x + 0.44715 * x**3)
    return 0.5 * x * (np.tanh(a) + 1)
