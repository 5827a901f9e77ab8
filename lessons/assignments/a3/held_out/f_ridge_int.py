"""Whole number."""

FAILS = "a3.q6.time"
MISTAKE = ""


def ridge_rows(peak, bandwidth, bytes_per_number):
    return peak * bytes_per_number // (2 * bandwidth)
