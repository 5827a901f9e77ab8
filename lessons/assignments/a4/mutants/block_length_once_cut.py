"""You say "length" as soon as the block reaches the budget; an end token before that ends the text first."""

FAILS = "a4.q2.block"


def commit(block, num_generated, max_tokens, eos):
    room = max_tokens - num_generated
    reason = "length" if len(block) >= room else None
    for i, token in enumerate(block[:room]):
        if token in eos:
            return block[: i + 1], reason or "eos"
    return block[:room], reason
