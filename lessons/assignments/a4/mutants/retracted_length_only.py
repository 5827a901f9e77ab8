"""You compare lengths; text of the same length may have changed."""

FAILS = "a4.q9.retracted"


def retracted(screens):
    return sum(max(0, len(before) - len(after)) for before, after in zip(screens, screens[1:]))
