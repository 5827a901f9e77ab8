"""any(token in eos)."""

FAILS = "a4.q2.block"
MISTAKE = "block_keeps_what_follows"


def commit(block, num_generated, max_tokens, eos):
    room = max_tokens - num_generated
    ended = bool(set(block[:room]) & set(eos))
    return block[:room], "eos" if ended else ("length" if len(block) >= room else None)
