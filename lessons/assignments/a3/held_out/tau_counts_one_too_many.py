"""range(gamma + 2)."""

FAILS = "a3.q2.tau"
MISTAKE = "tau_one_power_long"


def tau(alpha, gamma):
    powers = np.full(gamma + 2, float(alpha)) ** np.arange(gamma + 2)
    return float(powers.sum())
