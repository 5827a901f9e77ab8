"""Without a cache it counts each forward with the token it yields."""

FAILS = "a1.q8.rows"
MISTAKE = "rows_uncached_one_ahead"


def forward_rows(num_prompt, num_new, cached):
    if num_new == 0:
        return 0
    total = num_prompt + num_new - 1
    if not cached:
        total = 0
        for i in range(1, num_new + 1):
            total += num_prompt + i
    return total
