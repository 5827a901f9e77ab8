"""The draft's cache is never taken back, and propose believes what it holds."""

FAILS = "a2.q6.cost"
MISTAKE = "cost_draft_not_rolled_back"


def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    tokens, stop = list(prompt), len(prompt) + max_tokens
    while len(tokens) < stop:
        drafted, rows = [], []
        for _ in range(min(gamma, stop - len(tokens) - 1)):
            text = tokens + drafted
            rows.append(draft.score(text[draft.length() :] or text[-1:])[-1])
            drafted.append(noise.categorical(rows[-1]))
        behind = tokens[target.length() :]
        scores = target.score(behind + drafted)[len(behind) - 1 :]
        count, token = verify(drafted, np.array(rows), scores, noise)
        for t in [*drafted[:count], token]:
            tokens.append(t)
            if t == eos:
                return tokens[len(prompt) :]
        target.rollback(len(tokens) - 1)
    return tokens[len(prompt) :]
