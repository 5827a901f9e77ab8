"""Returns the prompt too."""

MISTAKE = "loop_with_the_prompt"


def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    text = prompt[:]
    stop = False
    while not stop and len(text) < len(prompt) + max_tokens:
        k = min(gamma, len(prompt) + max_tokens - len(text) - 1)
        drafted, q = propose(draft, text, k, noise)
        held = target.length()
        p = target.score(text[held:] + drafted)[len(text) - held - 1 :]
        n, token = verify(drafted, q, p, noise)
        for t in drafted[:n] + [token]:
            text.append(t)
            stop = t == eos
            if stop:
                break
        target.rollback(len(text) - 1)
        draft.rollback(len(text) - 1)
    return text
