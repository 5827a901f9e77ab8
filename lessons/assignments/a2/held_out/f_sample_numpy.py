"""Ignores the uniforms."""

FAILS = "a2.q3.law"
MISTAKE = ""


def sample(probs, uniforms):
    return int(np.random.default_rng(0).choice(len(probs), p=probs))
