"""You look at the draft's likeliest token only; the draft draws from all of q."""

FAILS = "a3.q1.overlap"


def acceptance_probability(p, q):
    return float(min(1.0, p[np.argmax(q)] / np.max(q)))
