"""Your target rows begin one too late: the row of the first draft is the one after the last token before it."""

FAILS = "a2.q6.law"


def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    tokens = list(prompt)
    end = len(prompt) + max_tokens
    while len(tokens) < end:
        drafted, draft_probs = propose(draft, tokens, min(gamma, end - len(tokens) - 1), noise)
        pending = tokens[target.length() :]
        rows = target.score(pending + drafted)[len(pending) - 1 :]
        target_probs = np.concatenate([rows[1:], rows[-1:]])
        num_accepted, token = verify(drafted, draft_probs, target_probs, noise)
        for emitted in [*drafted[:num_accepted], token]:
            tokens.append(emitted)
            if emitted == eos:
                return tokens[len(prompt) :]
        target.rollback(len(tokens) - 1)
        draft.rollback(len(tokens) - 1)
    return tokens[len(prompt) :]
