"""You count forwards; a forward over T tokens has T rows."""

FAILS = "a1.q8.rows"


def forward_rows(num_prompt, num_new, cached):
    return num_new
