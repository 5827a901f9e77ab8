"""The exact form through math.erf."""

FAILS = "a1.q2.gelu"
MISTAKE = "gelu_exact"


def gelu(x):
    import math

    return 0.5 * x * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))
