"""You add the two times; they overlap, so the longer one decides."""

FAILS = "a3.q6.time"


def roofline_time(operations, num_bytes, peak, bandwidth):
    return operations / peak + num_bytes / bandwidth
