"""You look for an end token before cutting to the budget: one that lies beyond it is never emitted."""

FAILS = "a4.q2.block"


def commit(block, num_generated, max_tokens, eos):
    for i, token in enumerate(block):
        if token in eos:
            return block[: min(i + 1, max_tokens - num_generated)], "eos"
    kept = block[: max_tokens - num_generated]
    return kept, "length" if num_generated + len(kept) == max_tokens else None
