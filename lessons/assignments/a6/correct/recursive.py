"""Admission and making room by recursion."""


def admit(waiting, running, free, max_running, size):
    if not waiting or len(running) >= max_running:
        return []
    first = min(waiting, key=lambda request: request["id"])
    need = pages(first["prompt"] + first["made"], size)
    if need + (1 if running else 0) > free:
        return []
    rest = [request for request in waiting if request["id"] != first["id"]]
    return [first["id"], *admit(rest, [*running, first], free - need, max_running, size)]


def preempt(held, needs, free):
    if len(held) == 1 or sum(needs.values()) <= free:
        return []
    youngest = max(held)
    others = {number: count for number, count in held.items() if number != youngest}
    still = {number: count for number, count in needs.items() if number != youngest}
    return [youngest, *preempt(others, still, free + held[youngest])]
