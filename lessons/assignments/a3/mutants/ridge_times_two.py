"""You multiply by the two operations of a weight; more operations per row mean fewer rows: divide."""

FAILS = "a3.q6.ridge"


def ridge_rows(peak, bandwidth, bytes_per_number):
    return 2 * bytes_per_number * peak / bandwidth
