"""Without a cache, counts each forward's rows once for the keys and once for the values."""

FAILS = "a1.q8.rows"
MISTAKE = "rows_without_a_cache"


def forward_rows(num_prompt, num_new, cached):
    if num_new == 0:
        return 0
    plain = sum(num_prompt + i for i in range(num_new))
    return num_prompt + num_new - 1 if cached else 2 * plain
