"""Token 0 is never taken for an end token: you test the token for truth."""

FAILS = "a4.q2.block"


def commit(block, num_generated, max_tokens, eos):
    for i, token in enumerate(block):
        if token and token in eos:
            return block[: i + 1], "eos"
        if num_generated + i + 1 == max_tokens:
            return block[: i + 1], "length"
    return block, None
