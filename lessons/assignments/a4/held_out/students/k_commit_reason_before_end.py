"""Asks for the length before it asks for eos."""

FAILS = "a4.q2.block"
MISTAKE = "block_length_before_eos"


def commit(block, num_generated, max_tokens, eos):
    kept = []
    for token in block:
        kept.append(token)
        if num_generated + len(kept) >= max_tokens:
            return kept, "length"
        if token in eos:
            return kept, "eos"
    return kept, None
