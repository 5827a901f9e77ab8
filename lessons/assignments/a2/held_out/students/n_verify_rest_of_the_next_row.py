"""Draws the replacement from the residual of the first row always."""

FAILS = "a2.q4.prefix"
MISTAKE = "verify_residual_of_the_first_row"


def verify(draft_tokens, draft_probs, target_probs, noise):
    n = 0
    for t, q, p in zip(draft_tokens, draft_probs, target_probs):
        if not noise.bernoulli(min(1.0, p[t] / q[t])):
            return n, noise.categorical(residual(target_probs[0], draft_probs[0]))
        n += 1
    return n, noise.categorical(target_probs[n])
