"""You return one row of logits, that of the last token; there is a row for each of the T tokens."""

FAILS = "a1.q4.logits"


every_row = forward


def forward(params, n_head, tokens):
    return every_row(params, n_head, tokens)[-1:]
