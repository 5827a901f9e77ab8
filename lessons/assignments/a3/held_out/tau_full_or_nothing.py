"""Either all drafts count or none."""

FAILS = "a3.q2.tau"
MISTAKE = "tau_last_power_only"


def tau(alpha, gamma):
    all_accepted = alpha**gamma
    return all_accepted * (gamma + 1) + (1 - all_accepted) * 1.0
