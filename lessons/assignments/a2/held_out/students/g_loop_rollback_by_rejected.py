"""Rolls the target back by the rejected drafts, but forgets that the newest token is not fed: the draft goes back by too few."""

FAILS = "a2.q6.law"


def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    out = []
    while len(out) < max_tokens:
        text = list(prompt) + out
        g = min(gamma, max_tokens - len(out) - 1)
        guess, q = propose(draft, text, g, noise)
        new = text[target.length() :]
        p = target.score(new + guess)[-(g + 1) :]
        n, token = verify(guess, q, p, noise)
        target.rollback(target.length() - (g - n))
        draft.rollback(draft.length() - max(0, g - n - 2))
        for t in guess[:n] + [token]:
            out.append(t)
            if t == eos:
                return out
    return out
