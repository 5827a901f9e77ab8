"""Counts how much shorter each screen is."""

FAILS = "a4.q9.retracted"
MISTAKE = "retracted_length_only"


def retracted(screens):
    gone = 0
    for i in range(1, len(screens)):
        change = len(screens[i - 1]) - len(screens[i])
        if change > 0:
            gone += change
    return gone
