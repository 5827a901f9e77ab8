"""Sees the end but returns the rest of its step too."""

MISTAKE = "eos_keeps_the_rest_of_the_step"


def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    made = []
    while len(made) < max_tokens and eos not in made:
        text = prompt + made
        drafted, q = propose(draft, text, min(gamma, max_tokens - len(made) - 1), noise)
        pending = text[target.length() :]
        p = target.score(pending + drafted)[len(pending) - 1 :]
        n, token = verify(drafted, q, p, noise)
        made.extend([*drafted[:n], token])
        for model in (target, draft):
            model.rollback(len(prompt) + len(made) - 1)
    return made
