"""Crashes for an empty draft."""

FAILS = "a2.q4.empty"
MISTAKE = "empty_draft_crashes"


def verify(draft_tokens, draft_probs, target_probs, noise):
    r = [target_probs[i][t] / draft_probs[i][t] for i, t in enumerate(draft_tokens)]
    assert max(r) >= 0
    for i, a in enumerate(r):
        if not noise.bernoulli(min(1.0, a)):
            return i, noise.categorical(residual(target_probs[i], draft_probs[i]))
    return len(r), noise.categorical(target_probs[-1])
