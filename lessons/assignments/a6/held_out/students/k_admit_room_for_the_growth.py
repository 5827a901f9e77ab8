"""Wants the pages of the text and one token more, instead of one page more."""

FAILS = "a6.q2.memory"


def admit(waiting, running, free, max_running, size):
    ids = []
    for r in sorted(waiting, key=lambda r: r["id"]):
        text = r["prompt"] + r["made"]
        need = pages(text + 1, size)
        if len(running) + len(ids) >= max_running or need > free:
            break
        free -= pages(text, size)
        ids.append(r["id"])
    return ids
