"""Looks for the eos tokens in their own order, and cuts at the first that is found."""

FAILS = "a4.q2.block"
MISTAKE = "block_one_eos_after_another"


def commit(block, num_generated, max_tokens, eos):
    for end in eos:
        if end in block:
            kept = block[: block.index(end) + 1]
            if num_generated + len(kept) <= max_tokens:
                return kept, "eos"
    kept = block[: max_tokens - num_generated]
    return kept, "length" if num_generated + len(kept) == max_tokens else None
