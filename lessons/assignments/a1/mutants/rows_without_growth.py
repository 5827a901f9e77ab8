"""Without a cache the text grows by a token each time; you count the prompt's length for all of them."""

FAILS = "a1.q8.rows"


def forward_rows(num_prompt, num_new, cached):
    if num_new == 0:
        return 0
    return num_prompt + num_new - 1 if cached else num_prompt * num_new
