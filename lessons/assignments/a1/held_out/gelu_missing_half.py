"""The factor one half is missing."""

FAILS = "a1.q2.gelu"
MISTAKE = ""


def gelu(x):
    return x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
