"""Accepts with p."""

FAILS = "a2.q4.one"
MISTAKE = "verify_by_p"


def verify(draft_tokens, draft_probs, target_probs, noise):
    for place in range(len(draft_tokens)):
        chance = float(target_probs[place][draft_tokens[place]])
        if not noise.bernoulli(chance):
            return place, noise.categorical(residual(target_probs[place], draft_probs[place]))
    return len(draft_tokens), noise.categorical(target_probs[-1])
