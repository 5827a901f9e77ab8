"""You round tokens over tau up; the number of steps is random, take its expectation: 1 + sum P(k) E[n - k]."""

FAILS = "a3.q8.steps"


def expected_steps(num_tokens, alpha, gamma):
    return float(np.ceil(num_tokens / tau(alpha, gamma)))
