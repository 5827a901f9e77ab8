"""No guard for equal laws."""

FAILS = "a2.q2.equal"
MISTAKE = "residual_equal_is_nan"


def residual(p, q):
    gap = np.where(p > q, p - q, 0.0)
    with np.errstate(invalid="ignore"):
        return gap / np.sum(gap)
