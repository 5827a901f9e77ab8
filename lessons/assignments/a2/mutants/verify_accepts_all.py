"""You accept every draft."""

FAILS = "a2.q4.one"


def verify(draft_tokens, draft_probs, target_probs, noise):
    return len(draft_tokens), noise.categorical(target_probs[len(draft_tokens)])
