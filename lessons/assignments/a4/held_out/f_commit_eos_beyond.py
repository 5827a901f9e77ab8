"""Eos beyond the budget counts."""

FAILS = "a4.q2.block"
MISTAKE = "block_eos_beyond_the_budget"


def commit(block, num_generated, max_tokens, eos):
    reason = None
    for i, t in enumerate(block):
        if t in eos:
            block, reason = block[: i + 1], "eos"
            break
    room = max_tokens - num_generated
    if len(block) >= room:
        return block[:room], reason or "length"
    return block, reason
