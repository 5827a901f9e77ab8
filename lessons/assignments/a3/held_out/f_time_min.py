"""Smaller."""

FAILS = "a3.q6.time"
MISTAKE = "time_min"


def roofline_time(operations, num_bytes, peak, bandwidth):
    return min(operations / peak, num_bytes / bandwidth)
