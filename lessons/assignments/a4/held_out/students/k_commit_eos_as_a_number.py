"""Compares tokens with the whole list of eos."""

FAILS = "a4.q2.block"
MISTAKE = "block_ignores_eos"


def commit(block, num_generated, max_tokens, eos):
    out = []
    for token in block:
        if num_generated + len(out) == max_tokens:
            return out, "length"
        out.append(token)
        if token == eos:
            return out, "eos"
    return out, "length" if num_generated + len(out) == max_tokens else None
