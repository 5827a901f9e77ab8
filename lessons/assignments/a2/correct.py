"""Other right ways to write A2; each gets full points."""


# %% catches_up_at_once
# After a full acceptance the last draft is fed to the draft model right away, in a forward of its own.
def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    tokens, generated = list(prompt), 0
    while generated < max_tokens and (not generated or tokens[-1] != eos):
        width = min(gamma, max_tokens - generated - 1)
        drafted, rows = propose(draft, tokens, width, noise)
        start = target.length()
        scores = target.score(tokens[start:] + drafted)
        kept, token = verify(drafted, rows, scores[len(scores) - width - 1 :], noise)
        if kept == width and width > 0:
            draft.score(drafted[-1:])
        fresh = [*drafted[:kept], token]
        if eos in fresh:
            fresh = fresh[: fresh.index(eos) + 1]
        tokens.extend(fresh)
        generated += len(fresh)
        for session in (target, draft):
            session.rollback(len(tokens) - 1)
    return tokens[len(prompt) :]


# %% exponential_race
# Tokens race to an exponential clock each.
def sample(probs, uniforms):
    support = np.flatnonzero(probs > 0.0)
    return int(support[np.argmin(-np.log1p(-uniforms[support]) / probs[support])])


# %% in_logs
# Acceptance and race in logarithms.
def accept(p, q, token, u):
    with np.errstate(divide="ignore"):
        return bool(np.log(u) < np.log(p[token]) - np.log(q[token]))


def sample(probs, uniforms):
    """Gumbel-max: the token whose log probability plus Gumbel noise is largest."""
    with np.errstate(divide="ignore"):
        return int(np.argmax(np.log(probs) - np.log(-np.log(np.clip(uniforms, 1e-300, 1 - 2**-53)))))


def verify(draft_tokens, draft_probs, target_probs, noise):
    for i, token in enumerate(draft_tokens):
        with np.errstate(divide="ignore"):
            log_ratio = np.log(target_probs[i, token]) - np.log(draft_probs[i, token])
        if not noise.bernoulli(np.exp(min(0.0, log_ratio))):
            return i, noise.categorical(residual(target_probs[i], draft_probs[i]))
    return len(draft_tokens), noise.categorical(target_probs[-1])


# %% inverse_from_above
# The inverse of the distribution function, read from the other end, in plain Python.
def sample(probs, uniforms):
    last, left = None, 1.0 - float(uniforms[-1])
    for token, prob in enumerate(probs):
        if prob > 0.0:
            last, left = token, left - float(prob)
            if left < 0.0:
                return token
    return last


# %% loop_by_matching
# Another rule within the loop, lossless too: draw from the target and accept while the draft says the same.
def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    tokens = list(prompt)
    while len(tokens) - len(prompt) < max_tokens:
        drafted, _ = propose(draft, tokens, min(gamma, len(prompt) + max_tokens - len(tokens) - 1), noise)
        rows = target.score(tokens[target.length() :] + drafted)[-len(drafted) - 1 :]
        for row, guess in zip(rows, [*drafted, None], strict=True):
            tokens.append(noise.categorical(row))
            if tokens[-1] == eos:
                return tokens[len(prompt) :]
            if tokens[-1] != guess:
                break
        target.rollback(len(tokens) - 1)
        draft.rollback(len(tokens) - 1)
    return tokens[len(prompt) :]


# %% multiplied
# u q < p instead of a quotient; the residual through the overlap; a NumPy bool.
def accept(p, q, token, u):
    return u * q[token] < p[token]


def residual(p, q):
    missing = p - np.minimum(p, q)
    return np.divide(missing, missing.sum()) if missing.any() else p.copy()


# %% separate_prefill
# The prompt but its last token is fed beforehand to both models; tokens are NumPy integers; cutting is slicing.
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


# %% vectorised
# All ratios at once, all coins tossed before the first is looked at.
def verify(draft_tokens, draft_probs, target_probs, noise):
    places = np.arange(len(draft_tokens))
    picked = np.asarray(draft_tokens, int)
    draft_probs = np.reshape(draft_probs, (len(draft_tokens), target_probs.shape[1]))  # also without drafts
    ratios = np.minimum(1.0, target_probs[places, picked] / draft_probs[places, picked])
    coins = np.array([noise.bernoulli(float(ratio)) for ratio in ratios], bool)
    accepted = int(np.logical_and.accumulate(coins).sum())
    padded = np.vstack([draft_probs, np.zeros((1, target_probs.shape[1]))])
    left = np.maximum(target_probs[accepted] - padded[accepted], 0.0)  # behind the last draft q is 0 and the bonus p
    return accepted, noise.categorical(left / left.sum())
