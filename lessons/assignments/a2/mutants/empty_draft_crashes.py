"""An empty draft makes you read a row that is not there; then the token comes from the target's only row."""

FAILS = "a2.q4.empty"


def verify(draft_tokens, draft_probs, target_probs, noise):
    last = draft_probs[len(draft_tokens) - 1]
    for i, token in enumerate(draft_tokens):
        if not noise.bernoulli(min(1.0, target_probs[i][token] / draft_probs[i][token])):
            return i, noise.categorical(residual(target_probs[i], draft_probs[i]))
    return len(draft_tokens), noise.categorical(target_probs[len(draft_tokens)] + 0.0 * last)
