"""You take entry i of the law for i tokens; it is i + 1 tokens."""

FAILS = "a3.q8.steps"


def expected_steps(num_tokens, alpha, gamma):
    law = tokens_law(alpha, gamma)
    steps = [0.0]
    for n in range(1, num_tokens + 1):
        stay = law[0] if law[0] < 1.0 else 0.5
        rest = sum(law[i] * steps[max(0, n - i)] for i in range(1, gamma + 1))
        steps.append((1.0 + rest) / (1.0 - stay))
    return float(steps[num_tokens])
