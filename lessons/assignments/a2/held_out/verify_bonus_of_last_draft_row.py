"""target_probs[-2]."""

FAILS = "a2.q4.bonus"
MISTAKE = "bonus_row_too_early"


def verify(draft_tokens, draft_probs, target_probs, noise):
    for i, token in enumerate(draft_tokens):
        p, q = target_probs[i], draft_probs[i]
        if not noise.bernoulli(min(1.0, p[token] / q[token])):
            return i, noise.categorical(residual(p, q))
    row = target_probs[-2] if len(draft_tokens) else target_probs[0]
    return len(draft_tokens), noise.categorical(row)
