"""Judges each draft by the target's next row."""

MISTAKE = "verify_next_rows"


def verify(draft_tokens, draft_probs, target_probs, noise):
    for i in range(len(draft_tokens)):
        p, q, x = target_probs[i + 1], draft_probs[i], draft_tokens[i]
        if not noise.bernoulli(min(1.0, p[x] / q[x])):
            return i, noise.categorical(residual(p, q))
    return len(draft_tokens), noise.categorical(target_probs[len(draft_tokens)])
