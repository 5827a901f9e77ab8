"""Tokens race to an exponential clock each."""


def sample(probs, uniforms):
    support = np.flatnonzero(probs > 0.0)
    return int(support[np.argmin(-np.log1p(-uniforms[support]) / probs[support])])
