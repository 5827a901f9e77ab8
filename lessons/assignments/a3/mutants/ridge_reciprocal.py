"""This is the reciprocal: the share of the ridge that one row has. Turn it over."""

FAILS = "a3.q6.ridge"


def ridge_rows(peak, bandwidth, bytes_per_number):
    return 2 * bandwidth / (peak * bytes_per_number)
