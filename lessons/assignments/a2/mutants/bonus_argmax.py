"""Your bonus token is the target's likeliest; draw it."""

FAILS = "a2.q4.bonus"


def verify(draft_tokens, draft_probs, target_probs, noise):
    for i, token in enumerate(draft_tokens):
        if not noise.bernoulli(min(1.0, target_probs[i][token] / draft_probs[i][token])):
            return i, noise.categorical(residual(target_probs[i], draft_probs[i]))
    if not draft_tokens:
        return 0, noise.categorical(target_probs[0])
    return len(draft_tokens), int(np.argmax(target_probs[len(draft_tokens)]))
