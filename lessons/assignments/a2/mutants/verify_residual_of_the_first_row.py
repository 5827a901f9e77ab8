"""Your residual always comes from row 0; take the row of the rejected draft."""

FAILS = "a2.q4.prefix"


def verify(draft_tokens, draft_probs, target_probs, noise):
    for i, token in enumerate(draft_tokens):
        if not noise.bernoulli(min(1.0, target_probs[i][token] / draft_probs[i][token])):
            return i, noise.categorical(residual(target_probs[0], draft_probs[0]))
    return len(draft_tokens), noise.categorical(target_probs[len(draft_tokens)])
