"""Raises an error where both distributions are equal."""

FAILS = "a2.q2.equal"


def residual(p, q):
    rest = [max(0.0, float(a) - float(b)) for a, b in zip(p, q)]
    total = sum(rest)
    if total == 0:
        raise ValueError("nothing left to draw from")
    return np.array(rest) / total
