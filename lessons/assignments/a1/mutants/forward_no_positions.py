"""The position embeddings wpe are missing."""

FAILS = "a1.q4.logits"


def embed(params, tokens, start):
    return params["wte"][np.asarray(tokens)]
