"""You go on after a rejection: the drafts behind it continue a text that no longer exists. Stop at the first one."""

FAILS = "a2.q4.prefix"


def verify(draft_tokens, draft_probs, target_probs, noise):
    accepted = [
        noise.bernoulli(min(1.0, target_probs[i][token] / draft_probs[i][token]))
        for i, token in enumerate(draft_tokens)
    ]
    if all(accepted):
        return len(accepted), noise.categorical(target_probs[-1])
    place = accepted.index(False)
    return sum(accepted), noise.categorical(residual(target_probs[place], draft_probs[place]))
