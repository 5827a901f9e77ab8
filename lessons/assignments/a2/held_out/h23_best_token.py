"""Draws the likeliest token."""

MISTAKE = "sample_argmax"


def sample(probs, uniforms):
    order = sorted(range(len(probs)), key=lambda x: probs[x])
    return order[-1]
