"""Subtracts the bias."""

FAILS = "a1.q1.rows"
MISTAKE = "norm_shift"


def layer_norm(x, weight, bias):
    out = []
    for row in x:
        m = np.mean(row)
        s = np.sqrt(np.mean((row - m) ** 2) + EPSILON)
        out.append(weight * (row - m) / s - bias)
    return np.vstack(out)
