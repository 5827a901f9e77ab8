"""min(1, q/p)."""

FAILS = "a2.q1.accept"
MISTAKE = "accept_inverted"


def accept(p, q, token, u):
    ratio = np.inf if p[token] == 0 else q[token] / p[token]
    return u < min(1.0, ratio)
