"""Never goes back in the target's cache."""

MISTAKE = "loop_target_not_rolled_back"


def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    text = list(prompt)
    room = max_tokens
    while room > 0:
        drafted, q = propose(draft, text, min(gamma, room - 1), noise)
        new = text[target.length() :] or text[-1:]
        p = target.score(new + drafted)[-len(drafted) - 1 :]
        n, token = verify(drafted, q, p, noise)
        for t in drafted[:n] + [token]:
            text.append(t)
            room -= 1
            if t == eos:
                return text[len(prompt) :]
        draft.rollback(len(text) - 1)
    return text[len(prompt) :]
