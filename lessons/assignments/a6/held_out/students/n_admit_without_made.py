"""Counts the prompt and not what was made before a setback."""

FAILS = "a6.q2.memory"
MISTAKE = "admit_by_the_prompt_alone"


def admit(waiting, running, free, max_running, size):
    out = []
    queue = sorted(waiting, key=lambda r: r["id"])
    while queue and len(running) + len(out) < max_running:
        r = queue.pop(0)
        n = pages(r["prompt"], size)
        if n + bool(running or out) > free:
            break
        free -= n
        out.append(r["id"])
    return out
