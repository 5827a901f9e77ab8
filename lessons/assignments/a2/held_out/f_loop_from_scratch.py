"""Both caches are emptied at each step."""

FAILS = "a2.q6.cost"
MISTAKE = "cost_starts_over"


def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    text = list(prompt)
    end = len(prompt) + max_tokens
    while len(text) < end:
        target.rollback(0)
        draft.rollback(0)
        d, q = propose(draft, text, min(gamma, end - len(text) - 1), noise)
        p = target.score(text + d)[-len(d) - 1 :]
        n, t = verify(d, q, p, noise)
        for x in d[:n] + [t]:
            text.append(x)
            if x == eos:
                return text[len(prompt) :]
    return text[len(prompt) :]
