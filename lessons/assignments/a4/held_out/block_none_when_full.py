"""Cuts to the budget but says None."""

FAILS = "a4.q2.block"
MISTAKE = "block_length_too_late"


def commit(block, num_generated, max_tokens, eos):
    kept = block[: max_tokens - num_generated]
    for i, token in enumerate(kept):
        if token in eos:
            return kept[: i + 1], "eos"
    return kept, "length" if len(block) > len(kept) else None
