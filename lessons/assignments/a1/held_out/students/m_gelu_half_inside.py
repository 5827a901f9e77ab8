"""Has x/2 inside of the tanh."""

FAILS = "a1.q2.gelu"
MISTAKE = "gelu_inside"


def gelu(x):
    h = x / 2
    return h * (1 + np.tanh(np.sqrt(2 / np.pi) * (h + 0.044715 * h**3)))
