"""You draft as many tokens as there is room for; the step emits one more than it drafts: room - 1."""

FAILS = "a4.q1.room"


def num_drafts(gamma, num_generated, max_tokens, num_prompt, n_positions):
    return max(0, min(gamma, min(max_tokens, n_positions - num_prompt) - num_generated))
