"""You use the last row of draft_probs for every draft; row i belongs to draft i."""

FAILS = "a2.q4.prefix"


def verify(draft_tokens, draft_probs, target_probs, noise):
    for i, token in enumerate(draft_tokens):
        if not noise.bernoulli(min(1.0, target_probs[i][token] / draft_probs[-1][token])):
            return i, noise.categorical(residual(target_probs[i], draft_probs[-1]))
    return len(draft_tokens), noise.categorical(target_probs[len(draft_tokens)])
