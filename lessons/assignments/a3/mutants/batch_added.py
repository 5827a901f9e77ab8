"""You add the further rows of one sequence to the batch; each of its sequences has m rows: batch x m."""

FAILS = "a3.q6.batch"


def roofline_verify_cost(batch, max_rows, ridge):
    rows = batch + np.arange(max_rows)
    return np.maximum(1.0, rows / ridge) / max(1.0, batch / ridge)
