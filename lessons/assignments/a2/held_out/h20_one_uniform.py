"""Asks for one coin and uses it for every draft of the step."""

MISTAKE = "verify_one_coin"


def verify(draft_tokens, draft_probs, target_probs, noise):
    verdict = None
    for i, x in enumerate(draft_tokens):
        if verdict is None:
            verdict = noise.bernoulli(min(1.0, target_probs[i][x] / draft_probs[i][x]))
        if not verdict:
            return i, noise.categorical(residual(target_probs[i], draft_probs[i]))
    return len(draft_tokens), noise.categorical(target_probs[-1])
