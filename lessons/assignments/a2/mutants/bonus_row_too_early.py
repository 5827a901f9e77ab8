"""Your bonus token comes from row gamma - 1; after full acceptance it comes from row gamma, behind the last draft."""

FAILS = "a2.q4.bonus"


def verify(draft_tokens, draft_probs, target_probs, noise):
    for i, token in enumerate(draft_tokens):
        if not noise.bernoulli(min(1.0, target_probs[i][token] / draft_probs[i][token])):
            return i, noise.categorical(residual(target_probs[i], draft_probs[i]))
    return len(draft_tokens), noise.categorical(target_probs[max(0, len(draft_tokens) - 1)])
