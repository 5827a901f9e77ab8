"""Without a cache you count the final length for every forward; the i-th one gets the text so far."""

FAILS = "a1.q8.rows"


def forward_rows(num_prompt, num_new, cached):
    if num_new == 0 or cached:
        return num_prompt + num_new - 1 if num_new else 0
    return num_new * (num_prompt + num_new - 1)
