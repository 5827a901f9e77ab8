"""This is the distance of p and q, the probability of a rejection; acceptance is 1 minus it."""

FAILS = "a3.q1.overlap"


def acceptance_probability(p, q):
    return float(0.5 * np.abs(p - q).sum())
