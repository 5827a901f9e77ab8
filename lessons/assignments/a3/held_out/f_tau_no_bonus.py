"""Without the bonus."""

FAILS = "a3.q2.tau"
MISTAKE = "tau_without_bonus"


def tau(alpha, gamma):
    return float(sum(alpha**k for k in range(1, gamma + 1)))
