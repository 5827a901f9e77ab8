"""You count words; count characters."""

FAILS = "a4.q9.retracted"


def retracted(screens):
    lost = 0
    for before, after in zip(screens, screens[1:]):
        old, new = before.split(), after.split()
        shared = 0
        while shared < min(len(old), len(new)) and old[shared] == new[shared]:
            shared += 1
        lost += len(old) - shared
    return lost
