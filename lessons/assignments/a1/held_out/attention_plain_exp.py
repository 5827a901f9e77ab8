"""No maximum is subtracted."""

FAILS = "a1.q3.large"
MISTAKE = "attention_overflows"


def causal_attention(queries, keys, values):
    T, S = len(queries), len(keys)
    mask = np.arange(S)[None] <= np.arange(T)[:, None] + S - T
    with np.errstate(over="ignore", invalid="ignore"):
        e = np.exp(np.einsum("thd,shd->hts", queries, keys) / np.sqrt(queries.shape[2])) * mask
        return np.einsum("hts,shd->thd", e / e.sum(-1, keepdims=True), values)
