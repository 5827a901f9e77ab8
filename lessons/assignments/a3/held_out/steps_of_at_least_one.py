"""The recursion begins at one step for no tokens."""

FAILS = "a3.q8.steps"
MISTAKE = "steps_at_least_one"

from functools import cache


def expected_steps(num_tokens, alpha, gamma):
    law = list(tokens_law(alpha, gamma))

    @cache
    def expect(n):
        return 0.0 if n <= 0 else 1.0 + sum(p * expect(n - k) for k, p in enumerate(law, 1))

    return expect(num_tokens) if num_tokens else 1.0
