"""argmax of the last row."""

FAILS = "a2.q4.bonus"
MISTAKE = "bonus_argmax"


def verify(draft_tokens, draft_probs, target_probs, noise):
    n = len(draft_tokens)
    for i in range(n):
        p, q = target_probs[i], draft_probs[i]
        if not noise.bernoulli(min(1.0, p[draft_tokens[i]] / q[draft_tokens[i]])):
            return i, noise.categorical(residual(p, q))
    return n, int(target_probs[n].argmax()) if n else noise.categorical(target_probs[0])
