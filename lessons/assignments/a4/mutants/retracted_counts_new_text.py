"""You count the characters that appear, not those that disappear."""

FAILS = "a4.q9.retracted"

right_retracted = retracted


def retracted(screens):
    return right_retracted(screens[::-1])
