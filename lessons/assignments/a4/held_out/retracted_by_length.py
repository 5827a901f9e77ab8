"""Differences of lengths."""

FAILS = "a4.q9.retracted"
MISTAKE = "retracted_length_only"


def retracted(screens):
    lost, before = 0, ""
    for screen in screens:
        if len(screen) < len(before):
            lost += len(before) - len(screen)
        before = screen
    return lost
