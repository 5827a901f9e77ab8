"""You let v grow from the first row; below the ridge further rows are free."""

FAILS = "a3.q6.batch"


def roofline_verify_cost(batch, max_rows, ridge):
    return np.arange(1.0, max_rows + 1.0)
