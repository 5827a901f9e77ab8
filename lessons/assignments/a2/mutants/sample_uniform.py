"""Your tokens are equally likely, whatever probs says."""

FAILS = "a2.q3.law"


def sample(probs, uniforms):
    support = np.flatnonzero(probs)
    return int(support[int(uniforms[0] * len(support))])
