"""Where no room is left you return a negative number; return 0."""

FAILS = "a4.q1.room"


def num_drafts(gamma, num_generated, max_tokens, num_prompt, n_positions):
    return min(gamma, min(max_tokens, n_positions - num_prompt) - num_generated - 1)
