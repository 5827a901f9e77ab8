"""Subtracts the prompt from the positions and not what was generated."""

FAILS = "a4.q1.room"
MISTAKE = "room_context_without_generated"


def num_drafts(gamma, num_generated, max_tokens, num_prompt, n_positions):
    return max(0, min(gamma, max_tokens - num_generated - 1, n_positions - num_prompt - 1))
