"""Without a cache the final length each time."""

FAILS = "a1.q8.rows"
MISTAKE = ""


def forward_rows(num_prompt, num_new, cached):
    if num_new == 0:
        return 0
    return num_prompt + num_new - 1 if cached else num_new * (num_prompt + num_new - 1)
