"""Neither scales the scores nor subtracts the largest."""

FAILS = "a1.q3.attention"
MISTAKE = "attention_no_scale"
ALSO = ("attention_overflows",)


def causal_attention(queries, keys, values):
    T, S = len(queries), len(keys)
    with np.errstate(all="ignore"):
        e = np.exp(np.einsum("ihd,jhd->hij", queries, keys))
        e = np.tril(e, S - T)
        return np.einsum("hij,jhd->ihd", e / e.sum(2)[..., None], values)
