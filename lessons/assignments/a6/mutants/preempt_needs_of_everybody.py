"""Who needs no page may be missing in `needs`; you look it up and raise an error."""

FAILS = "a6.q4.preempt"


def preempt(held, needs, free):
    victims, wanted = [], sum(needs[number] for number in held)
    for number in sorted(held, reverse=True)[:-1]:
        if wanted <= free:
            break
        victims.append(number)
        free += held[number]
        wanted -= needs[number]
    return victims
