"""A step that overshoots finishes the text; nothing is to be added for it."""

FAILS = "a3.q8.steps"


def expected_steps(num_tokens, alpha, gamma):
    law = tokens_law(alpha, gamma)
    steps = [0.0]
    for n in range(1, num_tokens + 1):
        steps.append(1.0 + sum(law[i] * steps[n - i - 1] for i in range(min(gamma + 1, n))) + 0.5 * law[n:].sum())
    return steps[num_tokens]
