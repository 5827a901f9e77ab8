"""Reads the target's rows one too far along."""

FAILS = "a2.q4.one"
MISTAKE = "verify_next_rows"


def verify(draft_tokens, draft_probs, target_probs, noise):
    k = 0
    for token, q in zip(draft_tokens, draft_probs):
        p = target_probs[k + 1]
        if not noise.bernoulli(min(1.0, p[token] / q[token])):
            return k, noise.categorical(residual(p, q))
        k += 1
    return k, noise.categorical(target_probs[k])
