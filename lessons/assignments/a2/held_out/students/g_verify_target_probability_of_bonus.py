"""Takes the mode of the last row for the bonus."""

FAILS = "a2.q4.bonus"
MISTAKE = "bonus_argmax"
ALSO = ("empty_draft_argmax",)


def verify(draft_tokens, draft_probs, target_probs, noise):
    for i in range(len(draft_tokens)):
        x = draft_tokens[i]
        ratio = target_probs[i, x] / draft_probs[i, x]
        if ratio < 1 and not noise.bernoulli(ratio):
            return i, noise.categorical(residual(target_probs[i], draft_probs[i]))
    return len(draft_tokens), int(target_probs[-1].argmax())
