"""1 - sum"""

FAILS = "a3.q1.overlap"
MISTAKE = "overlap_full_l1"


def acceptance_probability(p, q):
    distance = 0.0
    for a, b in zip(p, q):
        distance += abs(a - b)
    return float(1 - distance)
