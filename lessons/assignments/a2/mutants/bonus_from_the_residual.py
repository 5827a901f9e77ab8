"""Your bonus token is drawn from a residual; nothing was rejected, so it is drawn from the target's row as it is."""

FAILS = "a2.q4.bonus"


def verify(draft_tokens, draft_probs, target_probs, noise):
    for i, token in enumerate(draft_tokens):
        if not noise.bernoulli(min(1.0, target_probs[i][token] / draft_probs[i][token])):
            return i, noise.categorical(residual(target_probs[i], draft_probs[i]))
    row = target_probs[len(draft_tokens)]
    return len(draft_tokens), noise.categorical(residual(row, draft_probs[-1]) if draft_tokens else row)
