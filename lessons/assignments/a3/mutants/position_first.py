"""You use the first acceptance for all positions."""

FAILS = "a3.q7.position"


def tau_by_position(acceptances):
    return tau(acceptances[0] if len(acceptances) else 0.0, len(acceptances))
