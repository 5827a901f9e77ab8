"""You leave room for the target's own token in max_tokens, but not in the context."""

FAILS = "a4.q1.room"


def num_drafts(gamma, num_generated, max_tokens, num_prompt, n_positions):
    return max(0, min(gamma, max_tokens - num_generated - 1, n_positions - num_prompt - num_generated))
