"""You accept exactly if p >= q and never toss the coin: a token with p < q is accepted with probability p/q."""

FAILS = "a2.q1.accept"


def accept(p, q, token, u):
    return bool(p[token] >= q[token])
