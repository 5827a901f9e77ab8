"""if block[-1] in eos."""

FAILS = "a4.q2.block"
MISTAKE = "block_last_token_only"


def commit(block, num_generated, max_tokens, eos):
    block = block[: max_tokens - num_generated]
    reason = None
    if len(block) + num_generated >= max_tokens:
        reason = "length"
    if block[-1] in eos:
        reason = "eos"
    return block, reason
