"""Acceptance as 1 - TV(p, q); Python floats and lists."""


def acceptance_probability(p, q):
    return 1 - sum(abs(a - b) for a, b in zip(p.tolist(), q.tolist())) / 2


def tokens_law(alpha, gamma):
    return [(1 - alpha) * alpha**i for i in range(gamma)] + [alpha**gamma]


def roofline_verify_cost(batch, max_rows, ridge):
    one_row = max(1, batch / ridge)
    return [max(1, batch * m / ridge) / one_row for m in range(1, max_rows + 1)]
