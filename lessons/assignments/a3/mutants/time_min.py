"""You take the shorter of the two times; the longer one decides."""

FAILS = "a3.q6.time"


def roofline_time(operations, num_bytes, peak, bandwidth):
    return min(operations / peak, num_bytes / bandwidth)
