"""Draws the replacement from the target until it differs from the rejected token."""

FAILS = "a2.q4.one"


def verify(draft_tokens, draft_probs, target_probs, noise):
    for i, token in enumerate(draft_tokens):
        if not noise.bernoulli(min(1.0, target_probs[i][token] / draft_probs[i][token])):
            rest = np.array(target_probs[i])
            rest[token] = 0.0
            return i, noise.categorical(rest / rest.sum())
    return len(draft_tokens), noise.categorical(target_probs[len(draft_tokens)])
