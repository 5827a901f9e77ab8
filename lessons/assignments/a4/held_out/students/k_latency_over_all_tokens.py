"""Divides by all tokens, those of the first arrival too."""

FAILS = "a4.q7.latency"
MISTAKE = "latency_all_tokens"


def latency(start, arrivals):
    if len(arrivals) == 0:
        return None, None
    first = arrivals[0][0]
    if len(arrivals) == 1:
        return first - start, None
    count = sum(n for _, n in arrivals)
    return first - start, (arrivals[-1][0] - first) / count
