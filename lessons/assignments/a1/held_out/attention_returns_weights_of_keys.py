"""Weighs the keys instead of the values."""

FAILS = "a1.q3.attention"
MISTAKE = ""

right_attention = causal_attention


def causal_attention(queries, keys, values):
    return right_attention(queries, keys, keys)
