"""A block that fills the budget exactly ends the text too: the reason is "length", not None."""

FAILS = "a4.q2.block"


def commit(block, num_generated, max_tokens, eos):
    for i, token in enumerate(block):
        if num_generated + i == max_tokens:
            return block[:i], "length"
        if token in eos:
            return block[: i + 1], "eos"
    return block, None
