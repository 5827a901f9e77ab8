"""Calls the target once more to get the row of the bonus."""

FAILS = "a2.q6.cost"
MISTAKE = "cost_last_draft_alone"


def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    text, goal = list(prompt), len(prompt) + max_tokens
    while len(text) < goal:
        xs, qs = propose(draft, text, min(gamma, goal - len(text) - 1), noise)
        missing = text[target.length() :]
        if xs:
            ps = target.score(missing + xs[:-1])[len(missing) - 1 :]
            ps = np.concatenate([ps, target.score(xs[-1:])])
        else:
            ps = target.score(missing)[-1:]
        n, extra = verify(xs, qs, ps, noise)
        for t in xs[:n] + [extra]:
            text.append(t)
            if t == eos:
                return text[len(prompt) :]
        target.rollback(len(text) - 1)
        draft.rollback(len(text) - 1)
    return text[len(prompt) :]
