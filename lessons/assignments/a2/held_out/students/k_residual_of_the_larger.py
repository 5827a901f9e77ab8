"""Keeps the target's whole probability wherever it is the larger one."""

FAILS = "a2.q2.residual"
MISTAKE = "residual_by_excess_of_q"


def residual(p, q):
    better = np.array([pi if pi > qi else 0.0 for pi, qi in zip(p, q)])
    total = better.sum()
    return better / total if total else p
