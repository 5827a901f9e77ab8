"""All the others must get their pages, not only the oldest."""

FAILS = "a6.q4.preempt"


def preempt(held, needs, free):
    victims = []
    for number in sorted(held, reverse=True)[:-1]:
        if needs.get(min(held), 0) <= free:
            break
        victims.append(number)
        free += held[number]
    return victims
