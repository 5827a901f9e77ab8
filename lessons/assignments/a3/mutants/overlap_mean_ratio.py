"""You average min(1, p/q) over all tokens alike; tokens come with probability q, so weigh by q."""

FAILS = "a3.q1.overlap"


def acceptance_probability(p, q):
    with np.errstate(all="ignore"):
        return float(np.minimum(1.0, np.where(q > 0.0, p / q, 0.0)).mean())
