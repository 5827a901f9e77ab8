"""You use the approximation x * sigmoid(1.702 x); GPT-2 uses the tanh form."""

FAILS = "a1.q2.gelu"


def gelu(x):
    return x / (1.0 + np.exp(-1.702 * x))
