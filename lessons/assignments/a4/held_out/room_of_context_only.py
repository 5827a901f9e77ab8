"""Looks at the context alone."""

FAILS = "a4.q1.room"
MISTAKE = "room_forgets_the_budget"


def num_drafts(gamma, num_generated, max_tokens, num_prompt, n_positions):
    free = n_positions - (num_prompt + num_generated)
    return min(gamma, free - 1) if free > 0 else 0
