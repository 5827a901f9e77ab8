"""Accepts twice as readily as it may; no entry of the catalogue describes it."""

MISTAKE = ""


def verify(draft_tokens, draft_probs, target_probs, noise):
    for i, x in enumerate(draft_tokens):
        if not noise.bernoulli(min(1.0, 2 * target_probs[i][x] / draft_probs[i][x])):
            return i, noise.categorical(residual(target_probs[i], draft_probs[i]))
    return len(draft_tokens), noise.categorical(target_probs[-1])
