"""Accepts where a token drawn from p equals the draft."""

FAILS = "a2.q4.one"
MISTAKE = "verify_by_p"


def verify(draft_tokens, draft_probs, target_probs, noise):
    for i, t in enumerate(draft_tokens):
        s = noise.categorical(target_probs[i])
        if s != t:
            return i, noise.categorical(residual(target_probs[i], draft_probs[i]))
    return len(draft_tokens), noise.categorical(target_probs[-1])
