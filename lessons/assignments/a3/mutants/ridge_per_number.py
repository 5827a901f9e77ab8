"""You forget that a weight has several bytes."""

FAILS = "a3.q6.ridge"


def ridge_rows(peak, bandwidth, bytes_per_number):
    return peak / bandwidth / 2
