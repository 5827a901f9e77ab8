"""You keep more than max_tokens allows."""

FAILS = "a4.q2.block"


def commit(block, num_generated, max_tokens, eos):
    for i, token in enumerate(block):
        if token in eos:
            return block[: i + 1], "eos"
    return block, "length" if num_generated + len(block) >= max_tokens else None
