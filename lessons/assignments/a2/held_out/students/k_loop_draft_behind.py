"""Rolls the draft back to the prompt after each step."""

FAILS = "a2.q6.cost"
MISTAKE = "cost_draft_starts_over"


def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    text = list(prompt)
    limit = len(text) + max_tokens
    while len(text) < limit:
        guesses, q = propose(draft, text, min(gamma, limit - len(text) - 1), noise)
        waiting = text[target.length() :]
        p = target.score(waiting + guesses)[len(waiting) - 1 :]
        n, token = verify(guesses, q, p, noise)
        for t in guesses[:n] + [token]:
            text.append(t)
            if t == eos:
                return text[len(prompt) :]
        target.rollback(len(text) - 1)
        draft.rollback(len(prompt) - 1)
    return text[len(prompt) :]
