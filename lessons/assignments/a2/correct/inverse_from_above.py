"""The inverse of the distribution function, read from the other end, in plain Python."""


def sample(probs, uniforms):
    last, left = None, 1.0 - float(uniforms[-1])
    for token, prob in enumerate(probs):
        if prob > 0.0:
            last, left = token, left - float(prob)
            if left < 0.0:
                return token
    return last
