"""You divide by all tokens; those of the first arrival took none of that time."""

FAILS = "a4.q7.latency"


def latency(start, arrivals):
    if not arrivals:
        return None, None
    total = sum(count for _, count in arrivals)
    later = arrivals[-1][0] - arrivals[0][0]
    return arrivals[0][0] - start, later / total if len(arrivals) > 1 else None
