"""Numbers positions from 1."""

FAILS = "a1.q4.logits"
MISTAKE = "forward_positions_from_one"


def embed(params, tokens, start):
    positions = [start + i for i in range(1, len(tokens) + 1)]
    return params["wte"][tokens] + params["wpe"][positions]
