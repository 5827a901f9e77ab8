"""Counts the final length for every forward of the uncached run."""

FAILS = "a1.q8.rows"
MISTAKE = "rows_of_the_final_text"


def forward_rows(num_prompt, num_new, cached):
    if cached:
        return num_prompt + num_new - 1 if num_new else 0
    return num_new * (num_prompt + num_new - 1)
