"""Draft i is judged by the target's row i + 1; row i is the one at its own place."""

FAILS = "a2.q4.prefix"


def verify(draft_tokens, draft_probs, target_probs, noise):
    for i, token in enumerate(draft_tokens):
        if not noise.bernoulli(min(1.0, target_probs[i + 1][token] / draft_probs[i][token])):
            return i, noise.categorical(residual(target_probs[i + 1], draft_probs[i]))
    return len(draft_tokens), noise.categorical(target_probs[len(draft_tokens)])
