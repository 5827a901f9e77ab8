"""The pending tokens are fed first, the draft in a second forward."""

FAILS = "a2.q6.cost"
MISTAKE = "cost_pending_token_alone"


def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    tokens, stop = list(prompt), len(prompt) + max_tokens
    while len(tokens) < stop:
        drafted, rows = propose(draft, tokens, min(gamma, stop - len(tokens) - 1), noise)
        scores = target.score(tokens[target.length() :])[-1:]
        if drafted:
            scores = np.concatenate([scores, target.score(drafted)])
        count, token = verify(drafted, rows, scores, noise)
        for t in [*drafted[:count], token]:
            tokens.append(t)
            if t == eos:
                return tokens[len(prompt) :]
        target.rollback(len(tokens) - 1)
        draft.rollback(len(tokens) - 1)
    return tokens[len(prompt) :]
