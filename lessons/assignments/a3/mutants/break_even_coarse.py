"""Your answer is too coarse: it must be exact to 1e-6. Halve the interval until it is that short."""

FAILS = "a3.q4.break_even"


def break_even_alpha(gamma, c, verify_cost):
    alphas = np.linspace(0.0, 1.0, 1001)
    paying = [alpha for alpha in alphas if tau(alpha, gamma) >= gamma * c + verify_cost[gamma] - 1e-12]
    return float(paying[0]) if paying else None
