"""Divides by all tokens but the first one."""

FAILS = "a4.q7.latency"
MISTAKE = "latency_all_but_one"


def latency(start, arrivals):
    if not arrivals:
        return None, None
    n = sum(c for _, c in arrivals) - 1
    span = arrivals[-1][0] - arrivals[0][0]
    return arrivals[0][0] - start, span / n if n > 0 and len(arrivals) > 1 else None
