"""Subtracts the generated tokens from the budget only, not from the context."""

FAILS = "a4.q1.room"
MISTAKE = "room_context_without_generated"


def num_drafts(gamma, num_generated, max_tokens, num_prompt, n_positions):
    left = max_tokens - num_generated - 1
    place = n_positions - num_prompt - 1
    return max(0, min(gamma, left, place))
