"""You take the median of the taus; add tokens and steps up separately, then divide."""

FAILS = "a3.q7.pooled"


def pooled_tau(taus, tokens):
    return float(np.median(taus))
