"""You ignore the batch: m rows of each sequence make batch x m rows of one forward."""

FAILS = "a3.q6.batch"


def roofline_verify_cost(batch, max_rows, ridge):
    return np.maximum(1.0, np.arange(1, max_rows + 1) / ridge)
