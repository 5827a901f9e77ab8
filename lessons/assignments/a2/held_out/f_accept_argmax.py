"""Accepted where the token is the target's likeliest."""

FAILS = "a2.q1.accept"
MISTAKE = "accept_argmax"


def accept(p, q, token, u):
    return int(np.argmax(p)) == token
