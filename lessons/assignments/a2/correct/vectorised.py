"""All ratios at once, all coins tossed before the first is looked at."""


def verify(draft_tokens, draft_probs, target_probs, noise):
    places = np.arange(len(draft_tokens))
    picked = np.asarray(draft_tokens, int)
    draft_probs = np.reshape(draft_probs, (len(draft_tokens), target_probs.shape[1]))  # also without drafts
    ratios = np.minimum(1.0, target_probs[places, picked] / draft_probs[places, picked])
    coins = np.array([noise.bernoulli(float(ratio)) for ratio in ratios], bool)
    accepted = int(np.logical_and.accumulate(coins).sum())
    padded = np.vstack([draft_probs, np.zeros((1, target_probs.shape[1]))])
    left = np.maximum(target_probs[accepted] - padded[accepted], 0.0)  # behind the last draft q is 0 and the bonus p
    return accepted, noise.categorical(left / left.sum())
