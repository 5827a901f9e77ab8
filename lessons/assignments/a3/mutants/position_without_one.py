"""You forget the token that every step yields besides its drafts."""

FAILS = "a3.q7.position"


def tau_by_position(acceptances):
    return float(np.cumprod(acceptances).sum())
