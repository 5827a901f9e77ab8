"""Judges on after a rejection and counts all accepted."""

FAILS = "a2.q4.prefix"
MISTAKE = "verify_goes_on"


def verify(draft_tokens, draft_probs, target_probs, noise):
    n, fix = 0, None
    for i, t in enumerate(draft_tokens):
        if noise.bernoulli(min(1.0, target_probs[i][t] / draft_probs[i][t])):
            n += 1
        elif fix is None:
            fix = i
    if fix is None:
        return n, noise.categorical(target_probs[len(draft_tokens)])
    return n, noise.categorical(residual(target_probs[fix], draft_probs[fix]))
