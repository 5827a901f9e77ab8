"""Has the two cases the wrong way round."""

FAILS = "a1.q8.rows"
MISTAKE = "rows_swapped"


def forward_rows(num_prompt, num_new, cached):
    if not num_new:
        return 0
    return sum(range(num_prompt, num_prompt + num_new)) if cached else num_prompt + num_new - 1
