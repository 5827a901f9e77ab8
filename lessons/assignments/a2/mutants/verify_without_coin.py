"""You accept exactly if p >= q: a draft with p < q must be accepted with probability p/q."""

FAILS = "a2.q4.one"


def verify(draft_tokens, draft_probs, target_probs, noise):
    for i, token in enumerate(draft_tokens):
        if target_probs[i][token] < draft_probs[i][token]:
            return i, noise.categorical(residual(target_probs[i], draft_probs[i]))
    return len(draft_tokens), noise.categorical(target_probs[len(draft_tokens)])
