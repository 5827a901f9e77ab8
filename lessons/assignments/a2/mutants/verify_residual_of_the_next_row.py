"""Your residual is taken from the row behind the rejected draft; take the row that rejected it."""

FAILS = "a2.q4.prefix"


def verify(draft_tokens, draft_probs, target_probs, noise):
    for i, token in enumerate(draft_tokens):
        if not noise.bernoulli(min(1.0, target_probs[i][token] / draft_probs[i][token])):
            return i, noise.categorical(residual(target_probs[i + 1], draft_probs[i]))
    return len(draft_tokens), noise.categorical(target_probs[len(draft_tokens)])
