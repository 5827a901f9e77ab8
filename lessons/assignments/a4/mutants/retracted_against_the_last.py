"""You compare every screen with the last one; compare each with the next."""

FAILS = "a4.q9.retracted"


def retracted(screens):
    lost = 0
    for before in screens[:-1]:
        shared = 0
        while shared < min(len(before), len(screens[-1])) and before[shared] == screens[-1][shared]:
            shared += 1
        lost += len(before) - shared
    return lost
