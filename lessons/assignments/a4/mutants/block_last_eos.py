"""You cut at the last end token of the block; the first one ends the text."""

FAILS = "a4.q2.block"


def commit(block, num_generated, max_tokens, eos):
    kept = block[: max_tokens - num_generated]
    for i in reversed(range(len(kept))):
        if kept[i] in eos:
            return kept[: i + 1], "eos"
    return kept, "length" if num_generated + len(kept) == max_tokens else None
