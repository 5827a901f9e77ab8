"""Your v(1) is not 1: divide by the time of one row of each sequence, which is itself above the ridge here."""

FAILS = "a3.q6.batch"


def roofline_verify_cost(batch, max_rows, ridge):
    return np.maximum(1.0, batch * np.arange(1, max_rows + 1) / ridge)
