"""Your quotient is upside down: this is the time relative to plain decoding."""

FAILS = "a3.q4.speedup"


def speedup(alpha, gamma, c, verify_cost):
    return (gamma * c + verify_cost[gamma]) / tau(alpha, gamma)
