"""Who holds no pages, but needs some, makes room, too: its needs go."""

FAILS = "a6.q4.preempt"


def preempt(held, needs, free):
    victims = []
    for number in [number for number in sorted(held, reverse=True)[:-1] if held[number]]:
        if sum(needs.get(one, 0) for one in held if one not in victims) <= free:
            break
        victims.append(number)
        free += held[number]
    return victims
