"""Takes the spare page away with the others."""

FAILS = "a6.q2.memory"
MISTAKE = "admit_spare_page_taken"


def admit(waiting, running, free, max_running, size):
    done = []
    for r in sorted(waiting, key=lambda r: r["id"]):
        cost = pages(r["prompt"] + r["made"], size)
        if len(running) > 0 or len(done) > 0:
            cost += 1
        if cost > free or len(running) + len(done) + 1 > max_running:
            return done
        free = free - cost
        done.append(r["id"])
    return done
