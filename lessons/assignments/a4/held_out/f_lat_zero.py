"""0.0 for None."""

FAILS = "a4.q7.latency"
MISTAKE = "latency_zero_for_nothing"


def latency(start, arrivals):
    if not arrivals:
        return 0.0, 0.0
    n = sum(c for _, c in arrivals[1:])
    return arrivals[0][0] - start, (arrivals[-1][0] - arrivals[0][0]) / n if n else 0.0
