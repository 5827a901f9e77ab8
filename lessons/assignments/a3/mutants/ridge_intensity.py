"""You return operations per byte; a row costs 2 operations per weight of so many bytes."""

FAILS = "a3.q6.ridge"


def ridge_rows(peak, bandwidth, bytes_per_number):
    return peak / bandwidth
