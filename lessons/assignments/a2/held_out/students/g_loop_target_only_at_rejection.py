"""Rolls the draft back, and the target only after it rejected everything."""

FAILS = "a2.q6.law"


def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    text, goal = list(prompt), len(prompt) + max_tokens
    while len(text) < goal:
        xs, qs = propose(draft, text, min(gamma, goal - len(text) - 1), noise)
        missing = text[target.length() :]
        ps = target.score(missing + xs)[len(missing) - 1 :]
        n, extra = verify(xs, qs, ps, noise)
        for t in xs[:n] + [extra]:
            text.append(t)
            if t == eos:
                return text[len(prompt) :]
        if n == 0:
            target.rollback(len(text) - 1)
        draft.rollback(len(text) - 1)
    return text[len(prompt) :]
