"""Sorts the layers' names by what they begin with and finds only one layer."""

FAILS = "a1.q4.logits"
MISTAKE = "forward_first_layer_only"


def count_layers(params):
    return len({name[:2] for name in params if name.startswith("h.")})
