"""Logits from x without the last norm."""

FAILS = "a1.q4.logits"
MISTAKE = "forward_no_last_norm"


def unembed(params, x):
    return x @ params["wte"].T
