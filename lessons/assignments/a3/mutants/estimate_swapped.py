"""Rate and alpha are swapped."""

FAILS = "a3.q3.estimate"

right_estimate = estimate


def estimate(drafted, accepted):
    return right_estimate(drafted, accepted)[::-1]
