"""After a rejection you draw from p; draw from the residual, or tokens the draft favours come too often."""

FAILS = "a2.q4.one"


def verify(draft_tokens, draft_probs, target_probs, noise):
    for i, token in enumerate(draft_tokens):
        if not noise.bernoulli(min(1.0, target_probs[i][token] / draft_probs[i][token])):
            return i, noise.categorical(target_probs[i])
    return len(draft_tokens), noise.categorical(target_probs[len(draft_tokens)])
