"""Gamma from 1."""

FAILS = "a3.q4.best"
MISTAKE = "best_gamma_never_zero"


def best_gamma(alpha, c, verify_cost):
    return (
        max(range(1, len(verify_cost)), key=lambda g: speedup(alpha, g, c, verify_cost)) if len(verify_cost) > 1 else 0
    )
