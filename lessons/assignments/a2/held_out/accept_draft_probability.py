"""u < q."""

FAILS = "a2.q1.accept"
MISTAKE = ""


def accept(p, q, token, u):
    return bool(u < q[token])
