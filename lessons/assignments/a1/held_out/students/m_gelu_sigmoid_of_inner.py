"""Takes the sigmoid of the polynomial for half of one plus its tanh."""

FAILS = "a1.q2.gelu"
MISTAKE = "gelu_inside"


def gelu(x):
    u = np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)
    return x / (1 + np.exp(-u))
