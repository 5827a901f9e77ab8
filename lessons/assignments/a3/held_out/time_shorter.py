"""min for max."""

FAILS = "a3.q6.time"
MISTAKE = "time_min"


def roofline_time(operations, num_bytes, peak, bandwidth):
    compute, memory = operations / peak, num_bytes / bandwidth
    return compute if compute < memory else memory
