"""With room for one token you still draft one; the target's own token fills it."""

FAILS = "a4.q1.room"


def num_drafts(gamma, num_generated, max_tokens, num_prompt, n_positions):
    room = min(max_tokens, n_positions - num_prompt) - num_generated
    return max(0, min(gamma, max(1, room - 1))) if room > 0 else 0
