"""Never looks at the room."""

FAILS = "a2.q6.ends"
MISTAKE = "loop_overshoots"


def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    made = []
    while len(made) < max_tokens:
        text = [*prompt, *made]
        drafted, rows = propose(draft, text, gamma, noise)
        behind = text[target.length() :]
        count, token = verify(drafted, rows, target.score(behind + drafted)[len(behind) - 1 :], noise)
        for t in [*drafted[:count], token]:
            made.append(t)
            if t == eos:
                return made
        for session in (target, draft):
            session.rollback(len(prompt) + len(made) - 1)
    return made
