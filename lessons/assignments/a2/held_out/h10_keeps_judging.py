"""Judges all drafts and counts those that were accepted."""

MISTAKE = "verify_goes_on"


def verify(draft_tokens, draft_probs, target_probs, noise):
    ok = []
    for x, q, p in zip(draft_tokens, draft_probs, target_probs):
        ok.append(noise.bernoulli(min(1.0, p[x] / q[x])))
    n = sum(ok)
    if n == len(draft_tokens):
        return n, noise.categorical(target_probs[-1])
    first = ok.index(False)
    return n, noise.categorical(residual(target_probs[first], draft_probs[first]))
