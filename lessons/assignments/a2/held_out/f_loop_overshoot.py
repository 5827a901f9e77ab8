"""Always gamma drafts, cut at the end."""

FAILS = "a2.q6.cost"
MISTAKE = "cost_drafts_beyond_the_end"


def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    text = list(prompt)
    end = len(prompt) + max_tokens
    while len(text) < end:
        d, q = propose(draft, text, gamma, noise)
        p = target.score(text[target.length() :] + d)[-len(d) - 1 :]
        n, t = verify(d, q, p, noise)
        for x in d[:n] + [t]:
            text.append(x)
            if x == eos or len(text) == end:
                return text[len(prompt) :]
        target.rollback(len(text) - 1)
        draft.rollback(len(text) - 1)
    return text[len(prompt) :]
