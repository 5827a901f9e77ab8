"""Acceptance and race in logarithms."""


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
