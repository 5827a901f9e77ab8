"""You admit into what those that run leave over in this step; admission looks at the free pages as they are."""

FAILS = "a6.q5.plan"


def schedule(state, right=schedule, admit_right=admit):
    size = state["page_size"]
    given = rows(state["running"], state["max_rows"], state["chunk"])
    taken = sum(pages(one["fed"] + given.get(one["id"], 0), size) - pages(one["fed"], size) for one in state["running"])
    admitted = admit_right(state["waiting"], state["running"], state["free"] - taken, state["max_running"], size)
    plan = right(state | {"waiting": [one for one in state["waiting"] if one["id"] in admitted], "free": 10**9})
    running = state["running"] + [one for one in state["waiting"] if one["id"] in admitted]
    held = {one["id"]: pages(one["fed"], size) for one in running}
    needs = {one["id"]: pages(one["fed"] + plan["rows"].get(one["id"], 0), size) - held[one["id"]] for one in running}
    victims = preempt(held, needs, state["free"])
    kept = {number: count for number, count in plan["rows"].items() if number not in victims}
    return {"admitted": admitted, "preempted": victims, "rows": kept}
