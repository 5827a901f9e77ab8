"""The quotient, with its limit at alpha = 1."""


def tau(alpha, gamma):
    return gamma + 1 if alpha == 1 else (1 - alpha ** (gamma + 1)) / (1 - alpha)


def tokens_law(alpha, gamma):
    survival = np.append(float(alpha) ** np.arange(gamma + 1), 0.0)
    return survival[:-1] - survival[1:]
