"""Both caches keep all of the text."""

FAILS = "a2.q6.law"
MISTAKE = "loop_target_keeps_one_too_many"


def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    text = list(prompt)
    end = len(prompt) + max_tokens
    while len(text) < end:
        d, q = propose(draft, text, min(gamma, end - len(text) - 1), noise)
        new = text[target.length() :]
        p = target.score(new + d)[-len(d) - 1 :]
        n, t = verify(d, q, p, noise)
        for x in d[:n] + [t]:
            text.append(x)
            if x == eos:
                return text[len(prompt) :]
        target.rollback(len(text))
        draft.rollback(len(text))
    return text[len(prompt) :]
