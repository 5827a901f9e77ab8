"""In an exponential race times are divided by the probabilities, and the earliest wins: likelier tokens arrive earlier."""

FAILS = "a2.q3.law"


def sample(probs, uniforms):
    times = np.where(probs > 0.0, -np.log1p(-uniforms) * probs, np.inf)
    return int(np.argmin(times))
