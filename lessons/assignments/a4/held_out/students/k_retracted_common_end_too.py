"""Leaves out a common end as well as a common beginning."""

FAILS = "a4.q9.retracted"


def retracted(screens):
    total = 0
    for old, new in pairwise(screens):
        while old and new and old[0] == new[0]:
            old, new = old[1:], new[1:]
        while old and new and old[-1] == new[-1]:
            old, new = old[:-1], new[:-1]
        total += len(old)
    return total
