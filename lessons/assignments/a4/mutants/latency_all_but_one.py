"""You divide by all tokens but one; a first step may bring several at once, and none of them took that time."""

FAILS = "a4.q7.latency"


def latency(start, arrivals):
    if not arrivals:
        return None, None
    total = sum(count for _, count in arrivals) - 1
    return arrivals[0][0] - start, (arrivals[-1][0] - arrivals[0][0]) / total if total else None
