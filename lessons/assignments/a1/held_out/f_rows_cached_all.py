"""P + N rows with a cache."""

FAILS = "a1.q8.rows"
MISTAKE = "rows_prompt_plus_new"


def forward_rows(num_prompt, num_new, cached):
    if not num_new:
        return 0
    return num_prompt + num_new if cached else sum(range(num_prompt, num_prompt + num_new))
