"""The prompt but its last token is fed beforehand to both models; tokens are NumPy integers; cutting is slicing."""


def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    text = np.array(prompt, np.int64)
    if len(text) > 1 and max_tokens > 0:
        target.score(text[:-1])
        draft.score(text[:-1])
    missing = [int(text[-1])]
    while (room := len(prompt) + max_tokens - len(text)) > 0:
        drafted, rows = [], []
        while len(drafted) < min(gamma, room - 1):
            rows.append(draft.score(missing)[-1])
            drafted.append(noise.categorical(rows[-1]))
            missing = drafted[-1:]
        judged = target.score([int(text[-1]), *drafted])
        kept, token = verify(drafted, np.array(rows), judged, noise)
        block = np.array([*drafted[:kept], token])
        ends = np.flatnonzero(block == eos) if eos is not None else []
        if len(ends):
            return np.concatenate([text, block[: ends[0] + 1]])[len(prompt) :]
        text = np.concatenate([text, block])
        target.rollback(len(text) - 1)
        draft.rollback(len(text) - 1)
        missing = [int(t) for t in text[draft.length() :]]
    return text[len(prompt) :]
