"""Cut at the last eos."""

FAILS = "a4.q2.block"
MISTAKE = "block_last_eos"


def commit(block, num_generated, max_tokens, eos):
    block = block[: max_tokens - num_generated]
    where = [i for i, t in enumerate(block) if t in eos]
    if where:
        return block[: where[-1] + 1], "eos"
    return block, "length" if num_generated + len(block) == max_tokens else None
