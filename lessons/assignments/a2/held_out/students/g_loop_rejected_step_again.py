"""Throws a step away and drafts again where the first draft was rejected."""

FAILS = "a2.q6.law"
MISTAKE = "loop_drafts_again"


def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    text, goal, tries = list(prompt), len(prompt) + max_tokens, 0
    while len(text) < goal:
        xs, qs = propose(draft, text, min(gamma, goal - len(text) - 1), noise)
        missing = text[target.length() :]
        ps = target.score(missing + xs)[len(missing) - 1 :]
        n, extra = verify(xs, qs, ps, noise)
        if n == 0 and xs and tries == 0:
            tries = 1
            target.rollback(len(text) - 1)
            draft.rollback(len(text) - 1)
            continue
        tries = 0
        for t in xs[:n] + [extra]:
            text.append(t)
            if t == eos:
                return text[len(prompt) :]
        target.rollback(len(text) - 1)
        draft.rollback(len(text) - 1)
    return text[len(prompt) :]
