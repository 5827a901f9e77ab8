"""With a cache, counts the prompt's last token twice."""

FAILS = "a1.q8.rows"
MISTAKE = "rows_prompt_plus_new"


def forward_rows(num_prompt, num_new, cached):
    if num_new < 1:
        return 0
    if not cached:
        return num_new * num_prompt + num_new * (num_new - 1) // 2
    return num_prompt + 1 + (num_new - 1)
