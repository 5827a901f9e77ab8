"""Stops where the speedup first falls."""

FAILS = "a3.q4.best"
MISTAKE = "best_gamma_first_peak"
ALSO = ("best_gamma_climbs",)


def best_gamma(alpha, c, verify_cost):
    g = 0
    while g + 1 < len(verify_cost) and speedup(alpha, g + 1, c, verify_cost) > speedup(alpha, g, c, verify_cost):
        g = g + 1
    return g
