"""N / tau."""

FAILS = "a3.q8.steps"
MISTAKE = "steps_quotient"


def expected_steps(num_tokens, alpha, gamma):
    return num_tokens / tau(alpha, gamma)
