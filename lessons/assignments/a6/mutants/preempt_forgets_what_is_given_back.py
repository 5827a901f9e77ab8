"""Who is set back gives its pages back: fewer have to go."""

FAILS = "a6.q4.preempt"


def preempt(held, needs, free):
    victims = []
    for number in sorted(held, reverse=True)[:-1]:
        if sum(needs.get(one, 0) for one in held if one not in victims) <= free:
            break
        victims.append(number)
    return victims
