"""You divide by the others; a share is of all, as Q1 says."""

FAILS = "v0.q1.share"


def share(counts, i):
    return counts[i] / (sum(counts) - counts[i])
