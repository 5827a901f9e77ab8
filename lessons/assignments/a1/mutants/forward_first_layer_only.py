"""You run the first layer only; the next one reads what it made."""

FAILS = "a1.q4.logits"


def count_layers(params):
    return 1
