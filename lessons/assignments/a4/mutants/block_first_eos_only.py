"""You compare with the first end token only; there may be several."""

FAILS = "a4.q2.block"


def commit(block, num_generated, max_tokens, eos):
    for i, token in enumerate(block):
        if eos and token == eos[0]:
            return block[: i + 1], "eos"
        if num_generated + i + 1 == max_tokens:
            return block[: i + 1], "length"
    return block, None
