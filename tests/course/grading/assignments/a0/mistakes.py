"""Mistakes that students make in A0; minispec/course/grading/catalogue.py says how to read and write them."""


# %% first_twice fails a0.q2.law
# You draw the second token from the first one's distribution; ask the target again, with the first token.
def draw_two(target, noise):
    row = target([])
    return [noise.categorical(row), noise.categorical(row)]


# %% inverted fails a0.q1.accept in accept
# Your ratio is upside down: accept with probability min(1, p/q), not min(1, q/p).
# - return bool(u * q[token] < p[token])
# + return bool(u * p[token] < q[token])
