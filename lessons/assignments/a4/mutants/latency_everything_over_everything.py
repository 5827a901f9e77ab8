"""You divide the whole time by all tokens: that is throughput, with the prefill in it."""

FAILS = "a4.q7.latency"


def latency(start, arrivals):
    if not arrivals:
        return None, None
    total = sum(count for _, count in arrivals)
    return arrivals[0][0] - start, (arrivals[-1][0] - start) / total
