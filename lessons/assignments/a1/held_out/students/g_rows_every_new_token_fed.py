"""Counts the last token as fed, with the cache."""

FAILS = "a1.q8.rows"
MISTAKE = "rows_prompt_plus_new"


def forward_rows(num_prompt, num_new, cached):
    total = 0
    if num_new > 0:
        length = num_prompt
        for step in range(num_new):
            if not cached:
                total += length + step
        if cached:
            total = num_prompt + num_new
    return total
