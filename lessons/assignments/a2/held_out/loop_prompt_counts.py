"""len(tokens) < max_tokens."""

FAILS = "a2.q6.ends"
MISTAKE = "loop_counts_the_prompt"


def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    tokens = list(prompt)
    while len(tokens) < max_tokens:
        drafted, rows = propose(draft, tokens, min(gamma, max_tokens - len(tokens) - 1), noise)
        behind = tokens[target.length() :]
        count, token = verify(drafted, rows, target.score(behind + drafted)[len(behind) - 1 :], noise)
        for t in [*drafted[:count], token]:
            tokens.append(t)
            if t == eos:
                return tokens[len(prompt) :]
        target.rollback(len(tokens) - 1)
        draft.rollback(len(tokens) - 1)
    return tokens[len(prompt) :]
