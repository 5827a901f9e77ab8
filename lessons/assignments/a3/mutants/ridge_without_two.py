"""A row costs two operations per weight: divide by 2."""

FAILS = "a3.q6.ridge"


def ridge_rows(peak, bandwidth, bytes_per_number):
    return peak / bandwidth * bytes_per_number
