"""Fills the room with drafts."""

FAILS = "a4.q1.room"
MISTAKE = "room_overshoots"


def num_drafts(gamma, num_generated, max_tokens, num_prompt, n_positions):
    left = max_tokens - num_generated
    free = n_positions - num_prompt - num_generated
    return max(0, min(gamma, left, free))
