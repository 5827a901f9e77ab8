"""Uses the swish function, x * sigmoid(x)."""

FAILS = "a1.q2.gelu"
MISTAKE = "gelu_silu"


def gelu(x):
    return x / (1 + np.exp(-x))
