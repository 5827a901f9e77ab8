"""Forgets that without new tokens nothing is run."""

FAILS = "a1.q8.rows"
MISTAKE = "rows_for_nothing"


def forward_rows(num_prompt, num_new, cached):
    if cached:
        return num_prompt + (num_new - 1)
    return sum(range(num_prompt, num_prompt + num_new))
