"""Time is the sum."""

FAILS = "a3.q6.batch"
MISTAKE = "batch_one_plus"


def roofline_verify_cost(batch, max_rows, ridge):
    def t(m):
        return 1.0 + batch * m / ridge

    return np.array([t(m) / t(1) for m in range(1, max_rows + 1)])
