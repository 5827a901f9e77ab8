"""Eos only as the step's last token."""

FAILS = "a2.q6.ends"
MISTAKE = "eos_at_the_end_of_a_step_only"


def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    text = list(prompt)
    end = len(prompt) + max_tokens
    while len(text) < end:
        d, q = propose(draft, text, min(gamma, end - len(text) - 1), noise)
        p = target.score(text[target.length() :] + d)[-len(d) - 1 :]
        n, t = verify(d, q, p, noise)
        text += d[:n] + [t]
        if t == eos:
            break
        target.rollback(len(text) - 1)
        draft.rollback(len(text) - 1)
    return text[len(prompt) :]
