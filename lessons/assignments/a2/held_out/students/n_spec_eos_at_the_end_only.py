"""Looks for eos only in the last token of a step."""

FAILS = "a2.q6.law"
MISTAKE = "eos_at_the_end_of_a_step_only"


def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    text = list(prompt)
    while len(text) - len(prompt) < max_tokens:
        room = max_tokens - (len(text) - len(prompt))
        drafted, q = propose(draft, text, min(gamma, room - 1), noise)
        new = text[target.length() :]
        p = target.score(new + drafted)[len(new) - 1 :]
        n, extra = verify(drafted, q, p, noise)
        text += drafted[:n] + [extra]
        if text[-1] == eos:
            break
        target.rollback(len(text) - 1)
        draft.rollback(len(text) - 1)
    return text[len(prompt) :]
