"""You divide by the bytes of a weight; more bytes mean more time to read, so more rows are free."""

FAILS = "a3.q6.ridge"


def ridge_rows(peak, bandwidth, bytes_per_number):
    return peak / bandwidth / bytes_per_number / 2
