"""You keep the tokens behind the end token."""

FAILS = "a4.q2.block"


def commit(block, num_generated, max_tokens, eos):
    kept = block[: max_tokens - num_generated]
    if any(token in eos for token in kept):
        return kept, "eos"
    return kept, "length" if num_generated + len(kept) == max_tokens else None
