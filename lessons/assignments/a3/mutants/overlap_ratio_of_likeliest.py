"""You look at the target's likeliest token only; any token may be drafted."""

FAILS = "a3.q1.overlap"


def acceptance_probability(p, q):
    best = int(np.argmax(p))
    return float(min(1.0, q[best] / p[best]))
