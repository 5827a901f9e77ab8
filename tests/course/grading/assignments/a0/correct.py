"""Other right ways to write A0; each gets full points."""


# %% division
# Divides.
def accept(p, q, token, u):
    return u < min(1.0, p[token] / q[token])
