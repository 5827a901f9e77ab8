"""Looks for eos once the whole step is appended."""

FAILS = "a2.q6.ends"
MISTAKE = "eos_keeps_the_rest_of_the_step"


def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    text = list(prompt)
    while len(text) - len(prompt) < max_tokens and (eos is None or eos not in text[len(prompt) :]):
        room = max_tokens - (len(text) - len(prompt))
        xs, qs = propose(draft, text, min(gamma, room - 1), noise)
        todo = text[target.length() :] + xs
        ps = target.score(todo)
        ps = ps[len(ps) - len(xs) - 1 :]
        n, extra = verify(xs, qs, ps, noise)
        text = text + xs[:n] + [extra]
        for model in (target, draft):
            model.rollback(len(text) - 1)
    return text[len(prompt) :]
