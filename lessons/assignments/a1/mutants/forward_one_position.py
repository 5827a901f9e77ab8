"""All your tokens get the position embedding of the first one; token t stands at position t."""

FAILS = "a1.q4.logits"


def embed(params, tokens, start):
    return params["wte"][np.asarray(tokens)] + params["wpe"][start]
