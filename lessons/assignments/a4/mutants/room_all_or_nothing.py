"""Near the end you draft nothing at all; draft as many as still fit."""

FAILS = "a4.q1.room"


def num_drafts(gamma, num_generated, max_tokens, num_prompt, n_positions):
    return gamma if min(max_tokens, n_positions - num_prompt) - num_generated > gamma else 0
