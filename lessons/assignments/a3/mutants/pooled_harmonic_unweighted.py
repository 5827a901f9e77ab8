"""You take the harmonic mean as if all texts were equally long; weigh by their tokens."""

FAILS = "a3.q7.pooled"


def pooled_tau(taus, tokens):
    return len(taus) / sum(1.0 / t for t in taus)
