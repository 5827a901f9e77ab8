"""You use the exact form with erf; GPT-2 was trained with the tanh form, which differs in the fourth digit."""

FAILS = "a1.q2.gelu"

import math


def gelu(x):
    return 0.5 * x * (1.0 + np.vectorize(math.erf)(x / math.sqrt(2.0)))
