"""Looks for the end only at the end of a step."""

MISTAKE = "eos_at_the_end_of_a_step_only"


def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    made = []
    while len(made) < max_tokens:
        text = prompt + made
        drafted, q = propose(draft, text, min(gamma, max_tokens - len(made) - 1), noise)
        pending = text[target.length() :]
        p = target.score(pending + drafted)[len(pending) - 1 :]
        n, token = verify(drafted, q, p, noise)
        made += drafted[:n] + [token]
        if made[-1] == eos:
            break
        target.rollback(len(prompt) + len(made) - 1)
        draft.rollback(len(prompt) + len(made) - 1)
    return made
