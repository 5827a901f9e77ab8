"""You never look for an end token."""

FAILS = "a4.q2.block"


def commit(block, num_generated, max_tokens, eos):
    kept = block[: max_tokens - num_generated]
    return kept, "length" if num_generated + len(kept) == max_tokens else None
