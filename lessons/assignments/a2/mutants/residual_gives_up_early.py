"""Where p and q are close you return p; the residual is far from p there too. Only where nothing is positive, return
p.
"""

FAILS = "a2.q2.residual"


def residual(p, q):
    positive = np.maximum(p - q, 0.0)
    mass = positive.sum()
    return positive / mass if mass > 1e-3 else p
