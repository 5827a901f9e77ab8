"""The youngest makes room, not whoever needs most."""

FAILS = "a6.q4.preempt"


def preempt(held, needs, free):
    victims = []
    for number in sorted(sorted(held)[1:], key=lambda number: -needs.get(number, 0)):
        if sum(needs.get(one, 0) for one in held if one not in victims) <= free:
            break
        victims.append(number)
        free += held[number]
    return victims
