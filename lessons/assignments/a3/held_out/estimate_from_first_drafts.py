"""How often the first draft is accepted."""

FAILS = "a3.q3.estimate"
MISTAKE = "estimate_first_position_only"


def estimate(drafted, accepted):
    total = sum(drafted)
    steps = sum(1 for d in drafted if d > 0)
    hits = sum(1 for a in accepted if a >= 1)
    return sum(accepted) / total if total else None, hits / steps if steps else None
