"""Divides by tau and rounds up."""

FAILS = "a3.q8.steps"
MISTAKE = "steps_rounded_up"


def expected_steps(num_tokens, alpha, gamma):
    return float(np.ceil(num_tokens / tau(alpha, gamma)))
