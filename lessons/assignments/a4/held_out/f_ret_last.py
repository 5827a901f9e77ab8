"""Against the last screen."""

FAILS = "a4.q9.retracted"
MISTAKE = "retracted_against_the_last"


def retracted(screens):
    lost = 0
    for a in screens[:-1]:
        k = 0
        while k < min(len(a), len(screens[-1])) and a[k] == screens[-1][k]:
            k += 1
        lost += len(a) - k
    return lost
