"""You count characters that differ in place; behind the first difference all of the old text is taken back."""

FAILS = "a4.q9.retracted"


def retracted(screens):
    lost = 0
    for before, after in zip(screens, screens[1:]):
        lost += sum(a != b for a, b in zip(before, after)) + max(0, len(before) - len(after))
    return lost
