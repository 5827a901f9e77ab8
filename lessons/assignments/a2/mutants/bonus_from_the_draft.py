"""Your bonus token is drawn from the draft's last row; it comes from the target's."""

FAILS = "a2.q4.bonus"


def verify(draft_tokens, draft_probs, target_probs, noise):
    for i, token in enumerate(draft_tokens):
        if not noise.bernoulli(min(1.0, target_probs[i][token] / draft_probs[i][token])):
            return i, noise.categorical(residual(target_probs[i], draft_probs[i]))
    row = draft_probs[-1] if len(draft_tokens) else target_probs[0]
    return len(draft_tokens), noise.categorical(row)
