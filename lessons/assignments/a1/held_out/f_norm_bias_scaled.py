"""The bias is added before the weight multiplies."""

FAILS = "a1.q1.rows"
MISTAKE = ""


def layer_norm(x, weight, bias):
    m, v = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return ((x - m) / np.sqrt(v + 1e-5) + bias) * weight
