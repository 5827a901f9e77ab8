"""Tokens over tau, plus half a step."""

FAILS = "a3.q8.steps"
MISTAKE = ""


def expected_steps(num_tokens, alpha, gamma):
    return num_tokens / tau(alpha, gamma) + 0.5 if num_tokens else 0.0
