"""Takes the likeliest token after full acceptance."""

MISTAKE = "bonus_argmax"


def verify(draft_tokens, draft_probs, target_probs, noise):
    accepted = 0
    for x in draft_tokens:
        if not noise.bernoulli(min(1.0, target_probs[accepted][x] / draft_probs[accepted][x])):
            break
        accepted += 1
    if accepted < len(draft_tokens):
        return accepted, noise.categorical(residual(target_probs[accepted], draft_probs[accepted]))
    return accepted, int(target_probs[accepted].argmax()) if draft_tokens else noise.categorical(target_probs[0])
