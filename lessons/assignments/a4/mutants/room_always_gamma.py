"""You always draft gamma tokens: the last step overshoots."""

FAILS = "a4.q1.room"


def num_drafts(gamma, num_generated, max_tokens, num_prompt, n_positions):
    return gamma
