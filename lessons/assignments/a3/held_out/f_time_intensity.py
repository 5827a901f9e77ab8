"""Multiplied."""

FAILS = "a3.q6.time"
MISTAKE = ""


def roofline_time(operations, num_bytes, peak, bandwidth):
    return operations / min(peak, bandwidth * operations / max(num_bytes, 1e-30)) * 2
