"""Also who needs nothing itself makes room, if it is the youngest."""

FAILS = "a6.q4.preempt"


def preempt(held, needs, free):
    victims = []
    for number in sorted((number for number in held if number in needs), reverse=True)[:-1]:
        if sum(needs.get(one, 0) for one in held if one not in victims) <= free:
            break
        victims.append(number)
        free += held[number]
    return victims
