"""Goes through the requests that need pages, the youngest first."""

FAILS = "a6.q4.preempt"
MISTAKE = "preempt_only_those_who_need"


def preempt(held, needs, free):
    out = []
    wanting = sorted((i for i in needs if needs[i] > 0 and i != min(held)), reverse=True)
    total = sum(needs.values())
    for i in wanting:
        if total <= free:
            break
        total -= needs[i]
        free += held[i]
        out.append(i)
    return out
