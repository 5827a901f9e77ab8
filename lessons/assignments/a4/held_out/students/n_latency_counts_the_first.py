"""Measures the later time from the start, not from the first arrival."""

FAILS = "a4.q7.latency"
MISTAKE = "latency_from_the_start"


def latency(start, arrivals):
    if not arrivals:
        return None, None
    later = sum(c for _, c in arrivals[1:])
    return arrivals[0][0] - start, (arrivals[-1][0] - start) / later if later else None
