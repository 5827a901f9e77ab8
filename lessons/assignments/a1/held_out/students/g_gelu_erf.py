"""Uses the normal distribution function itself."""

FAILS = "a1.q2.gelu"
MISTAKE = "gelu_exact"


import math


def gelu(x):
    cdf = np.vectorize(lambda value: 0.5 * (1 + math.erf(value / math.sqrt(2))), otypes=[float])
    return x * cdf(x)
