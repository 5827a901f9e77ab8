"""Counts the row of the last token too, which is never fed."""

FAILS = "a1.q8.rows"
MISTAKE = "rows_prompt_plus_new"


def forward_rows(num_prompt, num_new, cached):
    if not num_new:
        return 0
    if cached:
        return num_prompt + num_new
    return num_prompt * num_new + num_new * (num_new - 1) // 2
