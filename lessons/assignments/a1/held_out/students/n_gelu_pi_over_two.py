"""Has the root of pi/2 instead of 2/pi."""

FAILS = "a1.q2.gelu"
MISTAKE = "gelu_inside"


def gelu(x):
    k = np.sqrt(np.pi / 2)
    return x / 2 * (1 + np.tanh(k * (x + 0.044715 * x * x * x)))
