"""You average the ratios of the steps; long steps must weigh more: divide the sums."""

FAILS = "a3.q3.estimate"


def estimate(drafted, accepted):
    steps = [(a, d) for d, a in zip(drafted, accepted, strict=True) if d]
    if not steps:
        return None, None
    return (
        sum(a / d for a, d in steps) / len(steps),
        sum(a / (a + (a < d)) for a, d in steps) / len(steps),
    )
