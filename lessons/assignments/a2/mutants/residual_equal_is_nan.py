"""Where p equals q you divide 0 by 0; return p then."""

FAILS = "a2.q2.equal"


def residual(p, q):
    with np.errstate(all="ignore"):
        return np.maximum(p - q, 0.0) / np.maximum(p - q, 0.0).sum()
