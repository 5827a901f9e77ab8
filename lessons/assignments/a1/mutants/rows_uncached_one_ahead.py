"""Without a cache your i-th forward counts its own result: the first one has P rows, not P + 1."""

FAILS = "a1.q8.rows"


def forward_rows(num_prompt, num_new, cached):
    if num_new == 0:
        return 0
    return num_prompt + num_new - 1 if cached else sum(num_prompt + i + 1 for i in range(num_new))
