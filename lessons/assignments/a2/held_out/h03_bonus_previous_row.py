"""Indexes the target's rows by the number of drafts less one at the end."""

MISTAKE = "bonus_row_too_early"


def verify(draft_tokens, draft_probs, target_probs, noise):
    n = 0
    while n < len(draft_tokens):
        t = draft_tokens[n]
        if noise.bernoulli(min(1.0, target_probs[n, t] / draft_probs[n, t])):
            n += 1
            continue
        return n, noise.categorical(residual(target_probs[n], draft_probs[n]))
    return n, noise.categorical(target_probs[max(n - 1, 0)])
