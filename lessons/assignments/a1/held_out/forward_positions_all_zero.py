"""Adds wpe[0] to every token of the prompt."""

FAILS = "a1.q4.logits"
MISTAKE = "forward_one_position"


def embed(params, tokens, start):
    rows = [params["wte"][token] + params["wpe"][start] for token in tokens]
    return np.array(rows)
