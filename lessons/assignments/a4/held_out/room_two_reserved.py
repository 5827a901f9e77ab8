"""Reserves two tokens instead of one."""

FAILS = "a4.q1.room"
MISTAKE = ""


def num_drafts(gamma, num_generated, max_tokens, num_prompt, n_positions):
    room = min(max_tokens, n_positions - num_prompt) - num_generated
    return max(0, min(gamma, room - 2))
