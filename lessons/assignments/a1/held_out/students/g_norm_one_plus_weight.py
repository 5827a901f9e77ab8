"""Scales by one plus the weight, as some other models do."""

FAILS = "a1.q1.rows"
MISTAKE = "layer_norm_one_plus_weight"


def layer_norm(x, weight, bias):
    out = np.empty(np.shape(x))
    for i, row in enumerate(x):
        centred = row - row.sum() / len(row)
        out[i] = centred / np.sqrt((centred @ centred) / len(row) + EPSILON) * (1 + weight) + bias
    return out
