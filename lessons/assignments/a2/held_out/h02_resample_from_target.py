"""Takes the target's row as it is after a rejection, in a vectorised verify."""

MISTAKE = "verify_replaces_from_p"


def verify(draft_tokens, draft_probs, target_probs, noise):
    count = len(draft_tokens)
    index = np.arange(count)
    ratios = np.minimum(1, target_probs[index, draft_tokens] / draft_probs[index, draft_tokens]) if count else []
    for i, r in enumerate(ratios):
        if not noise.bernoulli(float(r)):
            return i, noise.categorical(target_probs[i])
    return count, noise.categorical(target_probs[-1])
