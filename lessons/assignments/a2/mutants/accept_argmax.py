"""You accept exactly the target's likeliest token: that is the rule for temperature 0 only."""

FAILS = "a2.q1.accept"


def accept(p, q, token, u):
    return bool(token == np.argmax(p))
