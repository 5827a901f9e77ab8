"""Counts the rejected token as accepted."""

MISTAKE = "verify_counts_the_rejected"


def verify(draft_tokens, draft_probs, target_probs, noise):
    for i, x in enumerate(draft_tokens):
        good = noise.bernoulli(min(1.0, target_probs[i][x] / draft_probs[i][x]))
        if not good:
            token = noise.categorical(residual(target_probs[i], draft_probs[i]))
            return i + 1, token
    return len(draft_tokens), noise.categorical(target_probs[-1])
