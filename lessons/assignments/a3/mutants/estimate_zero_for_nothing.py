"""Where nothing was drafted you say 0; that would mean everything was rejected. Return None."""

FAILS = "a3.q3.estimate"

right_estimate = estimate


def estimate(drafted, accepted):
    return tuple(0.0 if figure is None else figure for figure in right_estimate(drafted, accepted))
