"""Forgets to divide by the time of one row of each."""

FAILS = "a3.q6.batch"
MISTAKE = "batch_not_relative"


def roofline_verify_cost(batch, max_rows, ridge):
    return np.array([max(1.0, batch * m / ridge) for m in range(1, max_rows + 1)])
