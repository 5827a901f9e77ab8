"""The draft's cache keeps its rejected tokens: its later drafts continue a text that does not exist."""

FAILS = "a2.q6.cost"


def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    tokens = list(prompt)
    end = len(prompt) + max_tokens
    unseen = list(prompt)
    while len(tokens) < end:
        drafted, rows = [], []
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
        unseen = tokens[-1:] if num_accepted < len(drafted) else tokens[-2:]
        target.rollback(len(tokens) - 1)
    return tokens[len(prompt) :]
