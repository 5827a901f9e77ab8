"""Where there is nothing to measure you say 0; say None."""

FAILS = "a4.q7.latency"


def latency(start, arrivals):
    if not arrivals:
        return 0.0, 0.0
    later = sum(count for _, count in arrivals[1:])
    return arrivals[0][0] - start, (arrivals[-1][0] - arrivals[0][0]) / later if later else 0.0
