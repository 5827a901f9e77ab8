"""Your ratio is upside down: plain time over speculative time, so that more is faster."""

FAILS = "a4.q8.compare"

right_compare = compare


def compare(plain, speculative):
    return right_compare(speculative, plain)
