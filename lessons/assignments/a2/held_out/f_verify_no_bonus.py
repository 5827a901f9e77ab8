"""No token after full acceptance: the last draft again."""

FAILS = "a2.q4.bonus"
MISTAKE = "bonus_missing"


def verify(draft_tokens, draft_probs, target_probs, noise):
    for i, t in enumerate(draft_tokens):
        if not noise.bernoulli(min(1.0, target_probs[i][t] / draft_probs[i][t])):
            return i, noise.categorical(residual(target_probs[i], draft_probs[i]))
    return len(draft_tokens), None
