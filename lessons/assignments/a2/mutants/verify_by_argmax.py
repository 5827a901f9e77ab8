"""You compare the draft with the target's likeliest token: that is the rule for temperature 0 only."""

FAILS = "a2.q4.one"


def verify(draft_tokens, draft_probs, target_probs, noise):
    for i, token in enumerate(draft_tokens):
        if token != np.argmax(target_probs[i]):
            return i, int(np.argmax(target_probs[i]))
    return len(draft_tokens), int(np.argmax(target_probs[len(draft_tokens)]))
