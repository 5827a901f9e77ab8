"""Total time over all tokens."""

FAILS = "a4.q7.latency"
MISTAKE = "latency_everything_over_everything"


def latency(start, arrivals):
    if not arrivals:
        return None, None
    times = [time for time, _ in arrivals]
    tokens = sum(n for _, n in arrivals)
    return times[0] - start, (times[-1] - start) / tokens
