"""The exact end is not told."""

FAILS = "a4.q2.block"
MISTAKE = "block_length_too_late"


def commit(block, num_generated, max_tokens, eos):
    out = []
    for t in block:
        if num_generated + len(out) == max_tokens:
            return out, "length"
        out.append(t)
        if t in eos:
            return out, "eos"
    return out, None
