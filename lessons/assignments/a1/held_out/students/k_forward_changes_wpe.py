"""Adds the token embeddings onto a view of wpe, which changes the parameters."""

FAILS = "a1.q4.logits"
MISTAKE = "changes_its_arguments"


def embed(params, tokens, start):
    x = params["wpe"][start : start + len(tokens)]
    x += params["wte"][np.asarray(tokens)]
    return x
