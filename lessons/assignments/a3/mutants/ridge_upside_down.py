"""Your quotient is upside down: bandwidth over peak."""

FAILS = "a3.q6.ridge"


def ridge_rows(peak, bandwidth, bytes_per_number):
    return bandwidth / peak * bytes_per_number / 2
