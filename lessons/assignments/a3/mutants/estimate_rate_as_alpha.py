"""Your alpha is the acceptance rate: drafts behind the first rejection were never judged and do not count."""

FAILS = "a3.q3.estimate"


def estimate(drafted, accepted):
    rate = sum(accepted) / sum(drafted) if sum(drafted) else None
    return rate, rate
