"""You subtract logarithms; the residual is the difference of probabilities."""

FAILS = "a2.q2.residual"


def residual(p, q):
    if np.array_equal(p, q):
        return p
    with np.errstate(all="ignore"):
        weights = np.exp(np.nan_to_num(np.maximum(np.log(p) - np.log(q), 0.0), posinf=50.0))
    return weights / weights.sum()
