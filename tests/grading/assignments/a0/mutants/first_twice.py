"""You draw the second token from the first one's distribution; ask the target again, with the first token."""

FAILS = "a0.q2.law"


def draw_two(target, noise):
    row = target([])
    return [noise.categorical(row), noise.categorical(row)]
