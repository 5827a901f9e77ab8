"""Divides the tokens by tau."""

FAILS = "a3.q8.steps"
MISTAKE = "steps_quotient"


def expected_steps(num_tokens, alpha, gamma):
    per_step = sum((i + 1) * w for i, w in enumerate(tokens_law(alpha, gamma)))
    return num_tokens / per_step
