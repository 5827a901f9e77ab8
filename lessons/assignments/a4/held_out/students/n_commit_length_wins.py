"""Says "length" where the last token allowed is an eos."""

FAILS = "a4.q2.block"
MISTAKE = "block_length_before_eos"


def commit(block, num_generated, max_tokens, eos):
    out = []
    for t in block:
        out.append(t)
        if len(out) + num_generated == max_tokens:
            return out, "length"
        if t in eos:
            return out, "eos"
    return out, None
