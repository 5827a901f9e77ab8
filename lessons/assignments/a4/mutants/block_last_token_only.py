"""You look for an end token only at the end of the block."""

FAILS = "a4.q2.block"


def commit(block, num_generated, max_tokens, eos):
    kept = block[: max_tokens - num_generated]
    if kept and kept[-1] in eos:
        return kept, "eos"
    return kept, "length" if num_generated + len(kept) == max_tokens else None
