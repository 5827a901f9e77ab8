"""You average min(1, p/q) over the tokens; they are drafted with probability q, so weigh by q."""

FAILS = "a3.q1.overlap"


def acceptance_probability(p, q):
    with np.errstate(all="ignore"):
        return float(np.mean(np.minimum(1.0, p / q)))
