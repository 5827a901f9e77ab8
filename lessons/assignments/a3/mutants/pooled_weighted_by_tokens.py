"""You weigh the taus by tokens; a text with few tokens per step takes more steps. Divide all tokens by all steps."""

FAILS = "a3.q7.pooled"


def pooled_tau(taus, tokens):
    return sum(t * n for t, n in zip(taus, tokens, strict=True)) / sum(tokens)
