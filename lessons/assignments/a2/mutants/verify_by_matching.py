"""You draw from the target and accept if the draft matches: that keeps the law, but accepts with probability p instead
of min(1, p/q).
"""

FAILS = "a2.q4.one"


def verify(draft_tokens, draft_probs, target_probs, noise):
    for i, token in enumerate(draft_tokens):
        drawn = noise.categorical(target_probs[i])
        if drawn != token:
            return i, drawn
    return len(draft_tokens), noise.categorical(target_probs[len(draft_tokens)])
