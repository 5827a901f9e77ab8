"""Empties the target's cache before every step: the right text, at the wrong price."""

MISTAKE = "cost_starts_over"


def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    text = list(prompt)
    while len(text) < len(prompt) + max_tokens:
        drafted, q = propose(draft, text, min(gamma, len(prompt) + max_tokens - len(text) - 1), noise)
        target.rollback(0)
        p = target.score(text + drafted)[len(text) - 1 :]
        n, token = verify(drafted, q, p, noise)
        for t in [*drafted[:n], token]:
            text.append(t)
            if t == eos:
                return text[len(prompt) :]
        draft.rollback(len(text) - 1)
    return text[len(prompt) :]
