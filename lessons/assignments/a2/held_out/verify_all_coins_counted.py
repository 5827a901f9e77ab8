"""Counts accepted drafts anywhere."""

FAILS = "a2.q4.prefix"
MISTAKE = "verify_goes_on"


def verify(draft_tokens, draft_probs, target_probs, noise):
    hits, first_miss = 0, None
    for i, token in enumerate(draft_tokens):
        if noise.bernoulli(min(1.0, target_probs[i][token] / draft_probs[i][token])):
            hits += 1
        elif first_miss is None:
            first_miss = i
    if first_miss is None:
        return hits, noise.categorical(target_probs[hits])
    return hits, noise.categorical(residual(target_probs[first_miss], draft_probs[first_miss]))
