"""The scores themselves weigh the values, no softmax."""

FAILS = "a1.q3.attention"
MISTAKE = ""


def causal_attention(queries, keys, values):
    T, H, D = queries.shape
    S = len(keys)
    s = np.einsum("thd,shd->hts", queries, keys) / np.sqrt(D)
    return np.einsum("hts,shd->thd", s * np.tril(np.ones((T, S)), S - T), values)
