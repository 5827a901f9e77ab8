"""Drafts gamma tokens whatever room is left, and returns all of the last step."""

FAILS = "a2.q6.ends"
MISTAKE = "loop_overshoots"
ALSO = ("cost_drafts_beyond_the_end",)


def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    text = list(prompt)
    produced = 0
    while produced < max_tokens:
        guesses, q = propose(draft, text, gamma, noise)
        waiting = text[target.length() :]
        p = target.score(waiting + guesses)[len(waiting) - 1 :]
        n, token = verify(guesses, q, p, noise)
        for t in guesses[:n] + [token]:
            text.append(t)
            produced += 1
            if t == eos:
                return text[len(prompt) :]
        target.rollback(len(text) - 1)
        draft.rollback(len(text) - 1)
    return text[len(prompt) :]
