"""You pay v(gamma + 1) once for each row; it is what the forward over all these rows costs."""

FAILS = "a3.q4.speedup"


def speedup(alpha, gamma, c, verify_cost):
    return tau(alpha, gamma) / (gamma * c + (gamma + 1) * verify_cost[gamma])
