"""You scale the token embeddings by a root of C, as some other models do; GPT-2 takes them as they are."""

FAILS = "a1.q4.logits"


def embed(params, tokens, start):
    scale = np.sqrt(params["wte"].shape[1])
    return scale * params["wte"][np.asarray(tokens)] + params["wpe"][start : start + len(tokens)]
