"""After a rejection the bonus row is drawn from."""

FAILS = "a2.q4.one"
MISTAKE = ""


def verify(draft_tokens, draft_probs, target_probs, noise):
    n = 0
    for i, t in enumerate(draft_tokens):
        if not noise.bernoulli(min(1.0, target_probs[i][t] / draft_probs[i][t])):
            break
        n += 1
    if n < len(draft_tokens):
        return n, noise.categorical(residual(target_probs[-1], draft_probs[n]))
    return n, noise.categorical(target_probs[-1])
