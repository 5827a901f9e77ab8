"""To generate no token nothing need be computed: 0 rows."""

FAILS = "a1.q8.rows"


def forward_rows(num_prompt, num_new, cached):
    return num_prompt + num_new - 1 if cached else sum(num_prompt + i for i in range(num_new))
