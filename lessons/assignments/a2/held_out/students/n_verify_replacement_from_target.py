"""Draws the replacement from p itself."""

FAILS = "a2.q4.one"
MISTAKE = "verify_replaces_from_p"


def verify(draft_tokens, draft_probs, target_probs, noise):
    i = 0
    while i < len(draft_tokens):
        x = draft_tokens[i]
        if not noise.bernoulli(min(1.0, target_probs[i][x] / draft_probs[i][x])):
            break
        i += 1
    return i, noise.categorical(target_probs[i])
