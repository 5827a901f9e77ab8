"""You toss one coin for the whole draft; every token has a coin of its own."""

FAILS = "a2.q4.prefix"


def verify(draft_tokens, draft_probs, target_probs, noise):
    ratio = 1.0
    for i, token in enumerate(draft_tokens):
        ratio = min(ratio, target_probs[i][token] / draft_probs[i][token])
    if draft_tokens and not noise.bernoulli(ratio):
        return 0, noise.categorical(residual(target_probs[0], draft_probs[0]))
    return len(draft_tokens), noise.categorical(target_probs[len(draft_tokens)])
