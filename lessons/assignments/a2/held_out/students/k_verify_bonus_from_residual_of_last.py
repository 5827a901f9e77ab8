"""Draws the last token from a residual in all cases."""

FAILS = "a2.q4.bonus"
MISTAKE = "bonus_from_the_residual"


def verify(draft_tokens, draft_probs, target_probs, noise):
    n = len(draft_tokens)
    for i, token in enumerate(draft_tokens):
        if not noise.bernoulli(min(1.0, target_probs[i][token] / draft_probs[i][token])):
            n = i
            break
    last = draft_probs[min(n, len(draft_tokens) - 1)] if draft_tokens else np.zeros(len(target_probs[0]))
    return n, noise.categorical(residual(target_probs[n], last))
