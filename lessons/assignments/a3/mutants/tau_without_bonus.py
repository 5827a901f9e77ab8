"""You count accepted drafts only; every step yields one token more, from the residual or as the bonus."""

FAILS = "a3.q2.tau"


def tau(alpha, gamma):
    return float(sum(alpha**k for k in range(1, gamma + 1)))
