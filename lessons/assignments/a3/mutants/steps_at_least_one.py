"""No tokens take no step: E[0] = 0."""

FAILS = "a3.q8.steps"

right_steps = expected_steps


def expected_steps(num_tokens, alpha, gamma):
    return right_steps(max(1, num_tokens), alpha, gamma)
