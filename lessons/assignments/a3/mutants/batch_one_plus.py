"""You add the arithmetic to the reading; the longer of the two decides."""

FAILS = "a3.q6.batch"


def roofline_verify_cost(batch, max_rows, ridge):
    return (1.0 + batch * np.arange(1, max_rows + 1) / ridge) / (1.0 + batch / ridge)
