"""You count the prompt against max_tokens; only generated tokens count."""

FAILS = "a4.q1.room"


def num_drafts(gamma, num_generated, max_tokens, num_prompt, n_positions):
    return max(0, min(gamma, min(max_tokens, n_positions) - num_prompt - num_generated - 1))
