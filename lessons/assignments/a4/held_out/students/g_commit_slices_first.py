"""Cuts the block to the room, and says "length" whenever it had to, also where an eos comes earlier."""

FAILS = "a4.q2.block"
MISTAKE = "block_length_once_cut"


def commit(block, num_generated, max_tokens, eos):
    room = max_tokens - num_generated
    reason = None
    if len(block) >= room:
        block, reason = block[:room], "length"
    for i, token in enumerate(block):
        if token in eos:
            return block[: i + 1], reason or "eos"
    return block, reason
