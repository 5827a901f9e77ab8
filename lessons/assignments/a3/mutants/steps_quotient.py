"""You divide the tokens by tau: that is right in the long run only. The last step is cut, and a cut step still counts."""

FAILS = "a3.q8.steps"


def expected_steps(num_tokens, alpha, gamma):
    return num_tokens / tau(alpha, gamma)
