"""Forgets the weight."""

FAILS = "a1.q1.rows"
MISTAKE = "layer_norm_no_weight"


def layer_norm(x, weight, bias):
    rows = [(r - np.average(r)) / np.sqrt(np.average((r - np.average(r)) ** 2) + EPSILON) for r in x]
    return np.stack(rows) + bias
