"""You look at memory only; a large batch waits for arithmetic."""

FAILS = "a3.q6.time"


def roofline_time(operations, num_bytes, peak, bandwidth):
    return num_bytes / bandwidth
