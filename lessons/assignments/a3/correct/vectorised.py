"""Arrays instead of loops; NumPy scalars are returned."""


def tau(alpha, gamma):
    return np.polyval(np.ones(gamma + 1), alpha)


def estimate(drafted, accepted):
    d, a = np.asarray(drafted, float), np.asarray(accepted, float)
    judged = np.minimum(a + 1, d).sum()
    return (a.sum() / d.sum() if d.any() else None), (a.sum() / judged if judged else None)


def best_gamma(alpha, c, verify_cost):
    gammas = np.arange(len(verify_cost))
    tokens = np.cumsum(np.power(float(alpha), gammas))
    return np.argmax(tokens / (gammas * c + np.asarray(verify_cost)))


def pooled_tau(taus, tokens):
    return np.sum(tokens) / np.sum(np.divide(tokens, taus))
