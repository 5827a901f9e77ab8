"""All tokens but one."""

FAILS = "a4.q7.latency"
MISTAKE = "latency_all_but_one"


def latency(start, arrivals):
    if not arrivals:
        return None, None
    n = sum(c for _, c in arrivals) - 1
    return arrivals[0][0] - start, (arrivals[-1][0] - arrivals[0][0]) / n if n else None
