"""Forgets the token that a step adds to its drafts."""

FAILS = "a4.q1.room"
MISTAKE = "room_overshoots"


def num_drafts(gamma, num_generated, max_tokens, num_prompt, n_positions):
    left = max_tokens - num_generated
    space = n_positions - num_prompt - num_generated
    return max(min(gamma, left, space), 0)
