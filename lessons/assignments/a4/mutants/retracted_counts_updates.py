"""You count how often text is taken back; count the characters."""

FAILS = "a4.q9.retracted"


def retracted(screens):
    return sum(not after.startswith(before) for before, after in zip(screens, screens[1:]))
