"""Centres on the median."""

FAILS = "a1.q1.rows"


def layer_norm(x, weight, bias):
    middle = np.median(x, axis=1, keepdims=True)
    spread = np.sqrt(np.mean((x - middle) ** 2, axis=1, keepdims=True) + EPSILON)
    return (x - middle) / spread * weight + bias
