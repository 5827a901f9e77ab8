"""Not over one row."""

FAILS = "a3.q6.batch"
MISTAKE = "batch_not_relative"


def roofline_verify_cost(batch, max_rows, ridge):
    return np.maximum(1.0, batch * np.arange(1, max_rows + 1) / ridge)
