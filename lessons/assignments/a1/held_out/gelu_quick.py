"""The quick form."""

FAILS = "a1.q2.gelu"
MISTAKE = "gelu_sigmoid"


def gelu(x):
    gate = 1 / (1 + np.exp(-1.702 * x))
    return x * gate
