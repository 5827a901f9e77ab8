"""The target's cache keeps rejected drafts."""

FAILS = "a2.q6.law"
MISTAKE = "loop_target_not_rolled_back"


def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    text = list(prompt)
    end = len(prompt) + max_tokens
    while len(text) < end:
        d, q = propose(draft, text, min(gamma, end - len(text) - 1), noise)
        new = text[target.length() :] or text[-1:]
        p = target.score(new + d)[-len(d) - 1 :]
        n, t = verify(d, q, p, noise)
        for x in d[:n] + [t]:
            text.append(x)
            if x == eos:
                return text[len(prompt) :]
        draft.rollback(len(text) - 1)
    return text[len(prompt) :]
