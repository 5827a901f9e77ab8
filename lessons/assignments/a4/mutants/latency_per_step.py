"""You measure the time per step; a step brings several tokens."""

FAILS = "a4.q7.latency"


def latency(start, arrivals):
    if not arrivals:
        return None, None
    steps = len(arrivals) - 1
    return arrivals[0][0] - start, (arrivals[-1][0] - arrivals[0][0]) / steps if steps else None
