"""You add Gumbel noise to the probabilities; it belongs on their logarithms."""

FAILS = "a2.q3.law"


def sample(probs, uniforms):
    noise = -np.log(-np.log(np.clip(uniforms, 1e-300, 1 - 2**-53)))
    return int(np.argmax(np.where(probs > 0.0, probs + noise, -np.inf)))
