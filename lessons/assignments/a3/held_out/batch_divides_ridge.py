"""The ridge is multiplied by the batch instead of divided."""

FAILS = "a3.q6.batch"
MISTAKE = ""


def roofline_verify_cost(batch, max_rows, ridge):
    rows = np.arange(1, max_rows + 1)
    return np.maximum(1.0, rows / (ridge * batch))
