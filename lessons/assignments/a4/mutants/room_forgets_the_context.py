"""You forget the context: prompt and generated tokens together fit n_positions."""

FAILS = "a4.q1.room"


def num_drafts(gamma, num_generated, max_tokens, num_prompt, n_positions):
    return max(0, min(gamma, max_tokens - num_generated - 1))
