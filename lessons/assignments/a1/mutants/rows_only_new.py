"""You forget the prompt: its tokens pass through the network once."""

FAILS = "a1.q8.rows"


def forward_rows(num_prompt, num_new, cached):
    if num_new == 0:
        return 0
    return num_new if cached else sum(num_prompt + i for i in range(num_new))
