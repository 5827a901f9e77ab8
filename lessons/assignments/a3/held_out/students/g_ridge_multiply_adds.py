"""Counts one operation per weight."""

FAILS = "a3.q6.ridge"
MISTAKE = "ridge_without_two"


def ridge_rows(peak, bandwidth, bytes_per_number):
    seconds_per_weight = bytes_per_number / bandwidth
    return seconds_per_weight * peak
