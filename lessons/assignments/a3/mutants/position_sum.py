"""You add the acceptances; a draft counts only if all before it were accepted: multiply along the draft, then add."""

FAILS = "a3.q7.position"


def tau_by_position(acceptances):
    return float(1.0 + sum(acceptances))
