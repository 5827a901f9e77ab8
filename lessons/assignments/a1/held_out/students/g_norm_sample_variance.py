"""Divides the squares by one less than the number of channels."""

FAILS = "a1.q1.rows"
MISTAKE = "layer_norm_unbiased"


def layer_norm(x, weight, bias):
    result = []
    for row in x:
        m = sum(row) / len(row)
        v = sum((value - m) ** 2 for value in row) / (len(row) - 1)
        result.append([(value - m) / (v + EPSILON) ** 0.5 * w + b for value, w, b in zip(row, weight, bias)])
    return np.array(result)
