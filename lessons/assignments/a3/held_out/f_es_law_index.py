"""Law shifted by one."""

FAILS = "a3.q8.steps"
MISTAKE = "steps_per_draft"


def expected_steps(num_tokens, alpha, gamma):
    law = tokens_law(alpha, gamma)
    s = [0.0]
    for n in range(1, num_tokens + 1):
        own = law[0]
        rest = 1 + sum(law[k] * s[max(0, n - k)] for k in range(1, gamma + 1))
        s.append(rest / (1 - own) if own < 1 else float(n))
    return float(s[num_tokens])
