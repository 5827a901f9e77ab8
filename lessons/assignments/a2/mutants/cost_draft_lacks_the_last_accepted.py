"""After a full acceptance the draft's cache lacks one token, the last draft, which was never fed to it."""

FAILS = "a2.q6.cost"


def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    tokens = list(prompt)
    end = len(prompt) + max_tokens
    pending = list(prompt)
    while len(tokens) < end:
        drafted, rows, unseen = [], [], pending if draft.length() == 0 else tokens[-1:]
        for _ in range(min(gamma, end - len(tokens) - 1)):
            rows.append(draft.score(unseen)[-1])
            drafted.append(noise.categorical(rows[-1]))
            unseen = drafted[-1:]
        pending = tokens[target.length() :]
        target_probs = target.score(pending + drafted)[len(pending) - 1 :]
        num_accepted, token = verify(drafted, np.array(rows), target_probs, noise)
        for emitted in [*drafted[:num_accepted], token]:
            tokens.append(emitted)
            if emitted == eos:
                return tokens[len(prompt) :]
        target.rollback(len(tokens) - 1)
        draft.rollback(len(tokens) - 1)
    return tokens[len(prompt) :]
