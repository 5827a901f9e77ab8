"""All needs together must fit, not each by itself."""

FAILS = "a6.q4.preempt"


def preempt(held, needs, free):
    victims = []
    for number in sorted(held, reverse=True)[:-1]:
        if max(needs.get(one, 0) for one in held if one not in victims) <= free:
            break
        victims.append(number)
        free += held[number]
    return victims
