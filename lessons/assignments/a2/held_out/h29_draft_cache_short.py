"""Takes the draft's cache back one token too far each step: right, and one row dearer."""

MISTAKE = "cost_draft_lacks_the_last_accepted"


def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    text = list(prompt)
    while len(text) < len(prompt) + max_tokens:
        drafted, q = propose(draft, text, min(gamma, len(prompt) + max_tokens - len(text) - 1), noise)
        pending = text[target.length() :]
        p = target.score(pending + drafted)[len(pending) - 1 :]
        n, token = verify(drafted, q, p, noise)
        for t in [*drafted[:n], token]:
            text.append(t)
            if t == eos:
                return text[len(prompt) :]
        target.rollback(len(text) - 1)
        draft.rollback(max(0, len(text) - 2))
    return text[len(prompt) :]
