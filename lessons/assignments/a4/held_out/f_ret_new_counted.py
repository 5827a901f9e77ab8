"""What is new counts too."""

FAILS = "a4.q9.retracted"
MISTAKE = ""


def retracted(screens):
    lost = 0
    for a, b in pairwise(screens):
        k = 0
        while k < min(len(a), len(b)) and a[k] == b[k]:
            k += 1
        lost += len(a) - k + len(b) - k
    return lost
