"""Softmaxes the logits."""

FAILS = "a1.q4.logits"
MISTAKE = "forward_returns_probabilities"

logits_of = unembed


def unembed(params, x):
    e = np.exp(logits_of(params, x))
    return e / e.sum(axis=1)[:, None]
