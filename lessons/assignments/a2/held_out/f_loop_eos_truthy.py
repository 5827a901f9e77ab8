"""`if eos and ...`."""

FAILS = "a2.q6.ends"
MISTAKE = "eos_zero_is_false"


def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    text = list(prompt)
    end = len(prompt) + max_tokens
    while len(text) < end:
        d, q = propose(draft, text, min(gamma, end - len(text) - 1), noise)
        p = target.score(text[target.length() :] + d)[-len(d) - 1 :]
        n, t = verify(d, q, p, noise)
        step = d[:n] + [t]
        if eos and eos in step:
            return text[len(prompt) :] + step[: step.index(eos) + 1]
        text += step
        target.rollback(len(text) - 1)
        draft.rollback(len(text) - 1)
    return text[len(prompt) :]
