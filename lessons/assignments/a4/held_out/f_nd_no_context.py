"""The context is forgotten."""

FAILS = "a4.q1.room"
MISTAKE = "room_forgets_the_context"


def num_drafts(gamma, num_generated, max_tokens, num_prompt, n_positions):
    return max(0, min(gamma, max_tokens - num_generated - 1))
