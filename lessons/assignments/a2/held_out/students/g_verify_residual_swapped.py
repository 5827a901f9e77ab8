"""Calls residual with the rows the wrong way round."""

FAILS = "a2.q4.one"
MISTAKE = "residual_swapped"


def verify(draft_tokens, draft_probs, target_probs, noise):
    n = 0
    while n < len(draft_tokens):
        t = draft_tokens[n]
        if noise.bernoulli(min(target_probs[n][t] / draft_probs[n][t], 1.0)):
            n += 1
        else:
            return n, noise.categorical(residual(draft_probs[n], target_probs[n]))
    return n, noise.categorical(target_probs[n])
