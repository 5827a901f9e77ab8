"""Decodes token by token."""

MISTAKE = "cost_no_drafts"


def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    text = list(prompt)
    for _ in range(max_tokens):
        row = target.score(text[target.length() :])[-1]
        text.append(noise.categorical(row))
        if text[-1] == eos:
            break
    return text[len(prompt) :]
