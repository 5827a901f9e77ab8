"""Another rule within the loop, lossless too: draw from the target and accept while the draft says the same."""


def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    tokens = list(prompt)
    while len(tokens) - len(prompt) < max_tokens:
        drafted, _ = propose(draft, tokens, min(gamma, len(prompt) + max_tokens - len(tokens) - 1), noise)
        rows = target.score(tokens[target.length() :] + drafted)[-len(drafted) - 1 :]
        for row, guess in zip(rows, [*drafted, None], strict=True):
            tokens.append(noise.categorical(row))
            if tokens[-1] == eos:
                return tokens[len(prompt) :]
            if tokens[-1] != guess:
                break
        target.rollback(len(tokens) - 1)
        draft.rollback(len(tokens) - 1)
    return tokens[len(prompt) :]
