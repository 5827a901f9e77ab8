"""You look at the arithmetic only; a forward over one row waits for memory."""

FAILS = "a3.q6.time"


def roofline_time(operations, num_bytes, peak, bandwidth):
    return operations / peak
