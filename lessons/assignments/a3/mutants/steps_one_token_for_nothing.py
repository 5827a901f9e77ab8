"""The last token takes a step, too: E[0] = 0, but E[1] = 1."""

FAILS = "a3.q8.steps"


def expected_steps(num_tokens, alpha, gamma):
    law = tokens_law(alpha, gamma)
    steps = [0.0, 0.0]
    for n in range(2, num_tokens + 1):
        steps.append(1.0 + sum(law[i] * steps[max(0, n - i - 1)] for i in range(gamma + 1)))
    return float(steps[num_tokens])
