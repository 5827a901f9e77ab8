"""You stop at the last rejection; everything behind the first one is void."""

FAILS = "a2.q4.prefix"


def verify(draft_tokens, draft_probs, target_probs, noise):
    place = len(draft_tokens)
    for i, token in enumerate(draft_tokens):
        if not noise.bernoulli(min(1.0, target_probs[i][token] / draft_probs[i][token])):
            place = i
    if place == len(draft_tokens):
        return place, noise.categorical(target_probs[place])
    return place, noise.categorical(residual(target_probs[place], draft_probs[place]))
