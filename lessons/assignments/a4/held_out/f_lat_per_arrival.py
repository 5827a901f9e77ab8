"""Per arrival."""

FAILS = "a4.q7.latency"
MISTAKE = "latency_per_step"


def latency(start, arrivals):
    if not arrivals:
        return None, None
    n = len(arrivals) - 1
    return arrivals[0][0] - start, (arrivals[-1][0] - arrivals[0][0]) / n if n else None
