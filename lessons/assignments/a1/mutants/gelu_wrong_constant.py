"""Your constant is 0.44715; it is 0.044715."""

FAILS = "a1.q2.gelu"


def gelu(x):
    return x * 0.5 * (1 + np.tanh(0.7978845608 * (x + 0.44715 * np.power(x, 3))))
