"""No more than needed: stop as soon as the others have their pages."""

FAILS = "a6.q4.preempt"


def preempt(held, needs, free):
    victims = []
    for number in sorted(held, reverse=True)[:-1]:
        if sum(needs.values()) <= (free if not victims else -1):
            break
        victims.append(number)
        free += held[number]
    return victims
