"""The dictionary is in any order; the youngest has the largest id."""

FAILS = "a6.q4.preempt"


def preempt(held, needs, free):
    victims = []
    for number in list(held)[::-1][:-1]:
        if sum(needs.get(one, 0) for one in held if one not in victims) <= free:
            break
        victims.append(number)
        free += held[number]
    return victims
