"""Without a draft you take the likeliest token; draw from the target's only row."""

FAILS = "a2.q4.empty"


def verify(draft_tokens, draft_probs, target_probs, noise):
    if not draft_tokens:
        return 0, int(np.argmax(target_probs[0]))
    for i, token in enumerate(draft_tokens):
        if not noise.bernoulli(min(1.0, target_probs[i][token] / draft_probs[i][token])):
            return i, noise.categorical(residual(target_probs[i], draft_probs[i]))
    return len(draft_tokens), noise.categorical(target_probs[len(draft_tokens)])
