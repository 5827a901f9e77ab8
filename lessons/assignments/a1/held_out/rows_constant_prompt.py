"""Without a cache P rows each time."""

FAILS = "a1.q8.rows"
MISTAKE = "rows_without_growth"


def forward_rows(num_prompt, num_new, cached):
    if not num_new:
        return 0
    return num_prompt + (num_new - 1) * (1 if cached else num_prompt)
