"""This is x * sigmoid(x), the activation of other models; GPT-2 uses the tanh form of gelu."""

FAILS = "a1.q2.gelu"


def gelu(x):
    return x / (1.0 + np.exp(-np.clip(x, -500, 500)))
