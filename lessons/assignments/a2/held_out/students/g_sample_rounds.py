"""Multiplies the uniform by V and takes the token at that place."""

FAILS = "a2.q3.law"
MISTAKE = "sample_uniform"


def sample(probs, uniforms):
    possible = np.flatnonzero(probs > 0)
    return int(possible[int(uniforms[0] * len(possible))])
