"""Without a cache, counts only the new tokens' part of each forward."""

FAILS = "a1.q8.rows"
MISTAKE = "rows_without_a_cache"


def forward_rows(num_prompt, num_new, cached):
    if num_new == 0:
        return 0
    rows = num_prompt
    for k in range(1, num_new):
        rows += 1 if cached else k
    return rows
