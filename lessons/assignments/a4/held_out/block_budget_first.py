"""Tests the budget before the token."""

FAILS = "a4.q2.block"
MISTAKE = "block_length_before_eos"


def commit(block, num_generated, max_tokens, eos):
    count = num_generated
    kept = []
    for token in block:
        kept.append(token)
        count += 1
        if count >= max_tokens:
            return kept, "length"
        if token in eos:
            return kept, "eos"
    return kept, None
