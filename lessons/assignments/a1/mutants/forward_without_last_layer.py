"""Your last layer is never run: with layers 0 to n - 1 there are n of them."""

FAILS = "a1.q4.logits"


def count_layers(params):
    return sum(name.endswith(".ln_1.weight") for name in params) - 1
