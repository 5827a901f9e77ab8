"""Multiplies x by 3 where its third power is wanted."""

FAILS = "a1.q2.gelu"
MISTAKE = "gelu_times_three"


def gelu(x):
    a = np.sqrt(2 / np.pi)
    return 0.5 * x * (1 + np.tanh(a * (x + 0.044715 * 3 * x)))
