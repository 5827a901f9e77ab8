"""v(m) = m."""

FAILS = "a3.q6.batch"
MISTAKE = "batch_linear"


def roofline_verify_cost(batch, max_rows, ridge):
    return [float(m) for m in range(1, max_rows + 1)]
