"""Takes the middle pair in the order of the runs."""

FAILS = "a4.q8.compare"
MISTAKE = "compare_middle_run"


def compare(plain, speculative):
    ratios = []
    for i in range(len(plain)):
        slow = plain[i][0] / plain[i][1]
        fast = speculative[i][0] / speculative[i][1]
        ratios.append(slow / fast)
    n = len(ratios)
    middle = ratios[n // 2] if n % 2 else (ratios[n // 2 - 1] + ratios[n // 2]) / 2
    return middle, min(ratios), max(ratios)
