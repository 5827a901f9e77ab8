"""Your ratio is upside down: accept with probability p/q, not q/p."""

FAILS = "a2.q1.accept"


def accept(p, q, token, u):
    return bool(u < q[token] / max(p[token], 1e-300))
