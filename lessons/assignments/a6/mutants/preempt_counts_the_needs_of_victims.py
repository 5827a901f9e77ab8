"""Who is set back needs nothing in this step any more."""

FAILS = "a6.q4.preempt"


def preempt(held, needs, free):
    victims = []
    for number in sorted(held, reverse=True)[:-1]:
        if sum(needs.get(one, 0) for one in held) <= free:
            break
        victims.append(number)
        free += held[number]
    return victims
