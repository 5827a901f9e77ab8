"""Cuts the ending token off too."""

FAILS = "a4.q2.block"
MISTAKE = "block_drops_eos"


def commit(block, num_generated, max_tokens, eos):
    out = []
    for t in block:
        if t in eos:
            return out, "eos"
        out.append(t)
        if len(out) + num_generated >= max_tokens:
            return out, "length"
    return out, None
