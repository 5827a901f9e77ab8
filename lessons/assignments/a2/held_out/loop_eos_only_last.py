"""Looks at the last token of a step."""

FAILS = "a2.q6.ends"
MISTAKE = "eos_at_the_end_of_a_step_only"


def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    tokens, stop = list(prompt), len(prompt) + max_tokens
    while len(tokens) < stop:
        drafted, rows = propose(draft, tokens, min(gamma, stop - len(tokens) - 1), noise)
        behind = tokens[target.length() :]
        count, token = verify(drafted, rows, target.score(behind + drafted)[len(behind) - 1 :], noise)
        tokens = tokens + drafted[:count] + [token]
        if token == eos:
            break
        target.rollback(len(tokens) - 1)
        draft.rollback(len(tokens) - 1)
    return tokens[len(prompt) :]
