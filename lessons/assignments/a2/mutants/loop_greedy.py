"""You draft greedily and verify against the soft row of the draft: q is then not what the drafts were drawn from."""

FAILS = "a2.q6.law"


def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    tokens = list(prompt)
    end = len(prompt) + max_tokens
    while len(tokens) < end:
        drafted, rows = [], []
        for _ in range(min(gamma, end - len(tokens) - 1)):
            rows.append(draft.score([*tokens, *drafted][draft.length() :])[-1])
            drafted.append(int(np.argmax(rows[-1])))
        pending = tokens[target.length() :]
        target_probs = target.score(pending + drafted)[len(pending) - 1 :]
        num_accepted, token = verify(drafted, rows, target_probs, noise)
        for emitted in [*drafted[:num_accepted], token]:
            tokens.append(emitted)
            if emitted == eos:
                return tokens[len(prompt) :]
        target.rollback(len(tokens) - 1)
        draft.rollback(len(tokens) - 1)
    return tokens[len(prompt) :]
