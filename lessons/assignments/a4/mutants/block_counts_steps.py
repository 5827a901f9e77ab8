"""You count the block as one towards max_tokens; every token counts."""

FAILS = "a4.q2.block"


def commit(block, num_generated, max_tokens, eos):
    for i, token in enumerate(block):
        if token in eos:
            return block[: i + 1], "eos"
    return block, "length" if num_generated + 1 == max_tokens else None
