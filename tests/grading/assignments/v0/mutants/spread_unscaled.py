"""You subtract counts; `spread` is of shares."""

FAILS = "v0.q3.spread"

right_share = share


def spread(counts):
    return max(counts) - min(counts)
