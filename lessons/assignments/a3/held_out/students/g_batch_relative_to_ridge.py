"""Divides by the ridge only once it has been passed, and forgets that one row may be past it."""

FAILS = "a3.q6.batch"
MISTAKE = "batch_not_relative"


def roofline_verify_cost(batch, max_rows, ridge):
    costs = []
    for m in range(1, max_rows + 1):
        costs.append(batch * m / ridge if batch * m > ridge else 1.0)
    return np.array(costs)
