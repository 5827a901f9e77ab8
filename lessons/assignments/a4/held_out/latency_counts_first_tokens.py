"""Divides by every token."""

FAILS = "a4.q7.latency"
MISTAKE = "latency_all_tokens"


def latency(start, arrivals):
    if not arrivals:
        return None, None
    ttft = arrivals[0][0] - start
    if len(arrivals) == 1:
        return ttft, None
    return ttft, (arrivals[-1][0] - arrivals[0][0]) / sum(n for _, n in arrivals)
