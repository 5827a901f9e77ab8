"""Looks positions up by token and tokens by position."""

FAILS = "a1.q4.logits"
MISTAKE = "forward_ends"


def embed(params, tokens, start):
    vectors = []
    for i, token in enumerate(tokens):
        vectors.append(params["wte"][start + i] + params["wpe"][token % len(params["wpe"])])
    return np.array(vectors)
