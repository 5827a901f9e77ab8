"""Your first entry is v(0); entry m - 1 is v(m)."""

FAILS = "a3.q6.batch"


def roofline_verify_cost(batch, max_rows, ridge):
    return np.maximum(1.0, batch * np.arange(max_rows) / ridge) / max(1.0, batch / ridge)
