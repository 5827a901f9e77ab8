"""Adds the two times."""

FAILS = "a3.q6.time"
MISTAKE = "time_sum"


def roofline_time(operations, num_bytes, peak, bandwidth):
    compute = operations / peak
    memory = num_bytes / bandwidth
    return compute + memory
