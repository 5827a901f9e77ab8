"""You have another word for the reason; it is "eos"."""

FAILS = "a4.q2.block"


def commit(block, num_generated, max_tokens, eos):
    for i, token in enumerate(block):
        if token in eos:
            return block[: i + 1], "stop"
        if num_generated + i + 1 == max_tokens:
            return block[: i + 1], "length"
    return block, None
