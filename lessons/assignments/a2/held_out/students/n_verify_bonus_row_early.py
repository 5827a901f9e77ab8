"""Draws the bonus from the row before the last."""

FAILS = "a2.q4.one"
MISTAKE = "bonus_row_too_early"


def verify(draft_tokens, draft_probs, target_probs, noise):
    G = len(draft_tokens)
    for i in range(G):
        x = draft_tokens[i]
        if not noise.bernoulli(min(1.0, target_probs[i, x] / draft_probs[i, x])):
            return i, noise.categorical(residual(target_probs[i], draft_probs[i]))
    return G, noise.categorical(target_probs[max(G - 1, 0)])
