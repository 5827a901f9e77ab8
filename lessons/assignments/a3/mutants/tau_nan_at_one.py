"""At alpha = 1 your closed form is 0 / 0; then every step yields gamma + 1 tokens."""

FAILS = "a3.q2.tau"


def tau(alpha, gamma):
    with np.errstate(all="ignore"):
        return float(np.divide(1.0 - alpha ** (gamma + 1), 1.0 - alpha))
