"""You look for one end token after another; the first place in the block at which any of them stands counts."""

FAILS = "a4.q2.block"


def commit(block, num_generated, max_tokens, eos):
    room = max_tokens - num_generated
    for end in eos:
        if end in block[:room]:
            return block[: block.index(end) + 1], "eos"
    return block[:room], "length" if len(block) >= room else None
