"""You count all drafts whose coin came up; those behind the first rejection are gone, whatever their coins say."""

FAILS = "a2.q4.prefix"


def verify(draft_tokens, draft_probs, target_probs, noise):
    coins = [
        noise.bernoulli(min(1.0, target_probs[i][token] / draft_probs[i][token]))
        for i, token in enumerate(draft_tokens)
    ]
    accepted = sum(coins)
    if accepted == len(coins):
        return accepted, noise.categorical(target_probs[accepted])
    return accepted, noise.categorical(residual(target_probs[accepted], draft_probs[accepted]))
