"""Peak / bandwidth."""

FAILS = "a3.q6.ridge"
MISTAKE = "ridge_intensity"


def ridge_rows(peak, bandwidth, bytes_per_number):
    return peak / bandwidth
