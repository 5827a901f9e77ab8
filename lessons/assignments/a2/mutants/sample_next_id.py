"""You return the id after the right one: the number of cumulative sums that u has passed is already the token."""

FAILS = "a2.q3.law"


def sample(probs, uniforms):
    return int(min((np.cumsum(probs) <= uniforms[0]).sum() + 1, len(probs) - 1))
