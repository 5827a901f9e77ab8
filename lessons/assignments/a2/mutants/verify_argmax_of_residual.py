"""After a rejection you take the residual's likeliest token; draw from it."""

FAILS = "a2.q4.one"


def verify(draft_tokens, draft_probs, target_probs, noise):
    for i, token in enumerate(draft_tokens):
        if not noise.bernoulli(min(1.0, target_probs[i][token] / draft_probs[i][token])):
            return i, int(np.argmax(residual(target_probs[i], draft_probs[i])))
    return len(draft_tokens), noise.categorical(target_probs[len(draft_tokens)])
