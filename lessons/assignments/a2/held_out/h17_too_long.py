"""Drafts gamma tokens whatever room is left."""

MISTAKE = "loop_overshoots"


def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    text = list(prompt)
    while len(text) - len(prompt) < max_tokens:
        drafted, q = propose(draft, text, gamma, noise)
        pending = text[target.length() :]
        p = target.score(pending + drafted)[len(pending) - 1 :]
        n, token = verify(drafted, q, p, noise)
        for t in [*drafted[:n], token]:
            text.append(t)
            if eos is not None and t == eos:
                return text[len(prompt) :]
        target.rollback(len(text) - 1)
        draft.rollback(len(text) - 1)
    return text[len(prompt) :]
