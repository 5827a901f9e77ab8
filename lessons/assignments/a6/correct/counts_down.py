"""Making room by counting what is missing."""


def preempt(held, needs, free):
    missing = sum(needs.get(number, 0) for number in held) - free
    gone = []
    for number in sorted(held)[:0:-1]:
        if missing <= 0:
            return gone
        missing -= held[number] + needs.get(number, 0)
        gone.append(number)
    return gone
