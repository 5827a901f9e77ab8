"""Steps that overshoot are left out."""

FAILS = "a3.q8.steps"
MISTAKE = "steps_overshoot_half"


def expected_steps(num_tokens, alpha, gamma):
    law = tokens_law(alpha, gamma)
    s = [0.0]
    for n in range(1, num_tokens + 1):
        s.append(1 + sum(law[k - 1] * s[n - k] for k in range(1, min(n, gamma + 1) + 1) if n - k >= 0) - 0.0)
    return s[num_tokens] * 1.0 if num_tokens < gamma else s[num_tokens] - 0.5 * (num_tokens > 1)
