"""Counts the prompt against both limits."""

FAILS = "a4.q1.room"
MISTAKE = "room_counts_the_prompt"


def num_drafts(gamma, num_generated, max_tokens, num_prompt, n_positions):
    length = num_prompt + num_generated
    limit = max_tokens if max_tokens < n_positions else n_positions
    drafts = limit - length - 1
    if drafts < 0:
        drafts = 0
    return drafts if drafts < gamma else gamma
