"""Divides the ridge by the batch, rounds it down to whole rows."""

FAILS = "a3.q6.batch"


def roofline_verify_cost(batch, max_rows, ridge):
    free = max(1, int(ridge // batch))
    return np.array([max(1.0, m / free) for m in range(1, max_rows + 1)])
