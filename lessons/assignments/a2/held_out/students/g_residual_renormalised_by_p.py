"""Divides by the target's mass where it is larger, not by the differences' mass."""

FAILS = "a2.q2.residual"
MISTAKE = "residual_divided_by_the_mass_of_p"


def residual(p, q):
    keep = p > q
    if not keep.any():
        return p
    return np.where(keep, p - q, 0.0) / p[keep].sum()
