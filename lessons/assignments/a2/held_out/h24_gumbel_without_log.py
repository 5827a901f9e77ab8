"""Adds Gumbel noise to probabilities instead of their logarithms."""

MISTAKE = "sample_gumbel_on_probs"


def sample(probs, uniforms):
    gumbel = -np.log(-np.log(np.clip(uniforms, 1e-300, 1 - 1e-16)))
    scores = np.where(probs > 0, probs + gumbel, -np.inf)
    return int(scores.argmax())
