"""Averages the time between arrivals."""

FAILS = "a4.q7.latency"
MISTAKE = "latency_per_step"


def latency(start, arrivals):
    times = [t for t, _ in arrivals]
    if not times:
        return None, None
    gaps = [b - a for a, b in zip(times, times[1:])]
    return times[0] - start, (sum(gaps) / len(gaps) if gaps else None)
