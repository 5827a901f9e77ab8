"""Stops in front of eos."""

FAILS = "a2.q6.ends"
MISTAKE = "eos_left_out"


def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    text = list(prompt)
    limit = len(text) + max_tokens
    done = False
    while len(text) < limit and not done:
        guesses, q = propose(draft, text, min(gamma, limit - len(text) - 1), noise)
        waiting = text[target.length() :]
        p = target.score(waiting + guesses)[len(waiting) - 1 :]
        n, token = verify(guesses, q, p, noise)
        step = guesses[:n] + [token]
        if eos is not None and eos in step:
            step = step[: step.index(eos)]
            done = True
        text += step
        target.rollback(len(text) - 1)
        draft.rollback(len(text) - 1)
    return text[len(prompt) :]
