"""You weigh min(1, p/q) by p; the token is drawn from q."""

FAILS = "a3.q1.overlap"


def acceptance_probability(p, q):
    with np.errstate(all="ignore"):
        return float((p * np.minimum(1.0, p / q)).sum())
