"""You normalise with a softmax; divide by the sum instead: a softmax gives every token some probability."""

FAILS = "a2.q2.residual"


def residual(p, q):
    if np.array_equal(p, q):
        return p
    weights = np.exp(np.maximum(p - q, 0.0))
    return weights / weights.sum()
