"""Takes for alpha the share of steps whose first draft was accepted... of all steps, drafts or not."""

FAILS = "a3.q3.estimate"
MISTAKE = "estimate_first_position_only"


def estimate(drafted, accepted):
    rate = sum(accepted) / sum(drafted) if sum(drafted) else None
    firsts = [a > 0 for a in accepted]
    return rate, (sum(firsts) / len(firsts) if firsts else None)
