"""Your positions start at 1; the first token stands at position 0."""

FAILS = "a1.q4.logits"


def embed(params, tokens, start):
    return params["wte"][np.asarray(tokens)] + params["wpe"][start + 1 : start + 1 + len(tokens)]
