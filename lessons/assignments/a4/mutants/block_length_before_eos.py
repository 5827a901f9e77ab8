"""An end token that is also the last one allowed is reported as "length"; it is "eos"."""

FAILS = "a4.q2.block"


def commit(block, num_generated, max_tokens, eos):
    for i, token in enumerate(block):
        if num_generated + i + 1 == max_tokens:
            return block[: i + 1], "length"
        if token in eos:
            return block[: i + 1], "eos"
    return block, None
