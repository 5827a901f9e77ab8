"""You take the first arrival's time as it is; subtract the start."""

FAILS = "a4.q7.latency"


right_latency = latency


def latency(start, arrivals):
    return right_latency(0.0, arrivals)
