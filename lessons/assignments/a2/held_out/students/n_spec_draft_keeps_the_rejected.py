"""Never takes the draft's cache back."""

FAILS = "a2.q6.law"


def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    text = list(prompt)
    while len(text) - len(prompt) < max_tokens:
        room = max_tokens - (len(text) - len(prompt))
        drafted, q = propose(draft, text, min(gamma, room - 1), noise)
        new = text[target.length() :]
        p = target.score(new + drafted)[len(new) - 1 :]
        n, extra = verify(drafted, q, p, noise)
        for token in drafted[:n] + [extra]:
            text.append(token)
            if token == eos:
                return text[len(prompt) :]
        target.rollback(len(text) - 1)
        draft.rollback(max(len(text) - 1, draft.length()))
    return text[len(prompt) :]
