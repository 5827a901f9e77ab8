"""You leave out steps that would overshoot; such a step is cut, and then the text is finished."""

FAILS = "a3.q8.steps"


def expected_steps(num_tokens, alpha, gamma):
    law = tokens_law(alpha, gamma)
    steps = [0.0]
    for n in range(1, num_tokens + 1):
        steps.append(1.0 + sum(law[i] * steps[n - i - 1] for i in range(min(gamma + 1, n))) / law[:n].sum())
    return float(steps[num_tokens])
