"""The mean gap between steps."""

FAILS = "a4.q7.latency"
MISTAKE = "latency_per_step"

from statistics import mean


def latency(start, arrivals):
    times = [time for time, _ in arrivals]
    if not times:
        return None, None
    gaps = [later - earlier for earlier, later in zip(times, times[1:])]
    return times[0] - start, mean(gaps) if gaps else None
