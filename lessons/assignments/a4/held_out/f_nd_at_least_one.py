"""At least one."""

FAILS = "a4.q1.room"
MISTAKE = "room_at_least_one"


def num_drafts(gamma, num_generated, max_tokens, num_prompt, n_positions):
    return max(1, min(gamma, max_tokens - num_generated - 1, n_positions - num_prompt - num_generated - 1))
