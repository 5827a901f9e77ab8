"""You multiply by 3 where x is raised to the third power."""

FAILS = "a1.q2.gelu"


def gelu(x):
    return 0.5 * x * (1.0 + np.tanh(np.sqrt(2.0 / np.pi) * (x + 0.044715 * 3 * x)))
