"""Draws from the target after a rejection."""

FAILS = "a2.q4.one"
MISTAKE = "verify_replaces_from_p"


def verify(draft_tokens, draft_probs, target_probs, noise):
    count = 0
    while count < len(draft_tokens):
        token = draft_tokens[count]
        if not noise.bernoulli(min(1.0, target_probs[count, token] / draft_probs[count, token])):
            break
        count += 1
    return count, noise.categorical(target_probs[count])
