"""Cuts before the end token."""

FAILS = "a4.q2.block"
MISTAKE = "block_drops_eos"


def commit(block, num_generated, max_tokens, eos):
    kept = []
    for token in block:
        if token in eos:
            return kept, "eos"
        kept.append(token)
        if len(kept) + num_generated == max_tokens:
            return kept, "length"
    return kept, None
