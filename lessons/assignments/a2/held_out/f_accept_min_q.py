"""Min(1, q/p)."""

FAILS = "a2.q1.accept"
MISTAKE = "accept_inverted"


def accept(p, q, token, u):
    return bool(u < min(1.0, q[token] / max(p[token], 1e-12)))
