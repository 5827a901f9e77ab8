"""Other right ways to write A3; each gets full points."""


# %% break_even_by_roots
# Break-even as the root of a polynomial; time and ridge in another order.
def break_even_alpha(gamma, c, verify_cost):
    cost = gamma * c + verify_cost[gamma]
    roots = np.roots([1.0] * gamma + [1.0 - cost])
    real = [float(root.real) for root in roots if abs(root.imag) < 1e-9 and -1e-9 <= root.real <= 1.0]
    return max(0.0, min(real)) if real else None


def roofline_time(operations, num_bytes, peak, bandwidth):
    intensity, ridge = operations / num_bytes, peak / bandwidth
    return num_bytes / bandwidth if intensity < ridge else operations / peak


def ridge_rows(peak, bandwidth, bytes_per_number):
    seconds_to_read, seconds_per_row = bytes_per_number / bandwidth, 2 / peak
    return seconds_to_read / seconds_per_row


# %% closed_form
# The quotient, with its limit at alpha = 1.
def tau(alpha, gamma):
    return gamma + 1 if alpha == 1 else (1 - alpha ** (gamma + 1)) / (1 - alpha)


def tokens_law(alpha, gamma):
    survival = np.append(float(alpha) ** np.arange(gamma + 1), 0.0)
    return survival[:-1] - survival[1:]


# %% recursive
# Expected steps by memoised recursion; costs layer by layer.
from functools import cache


def expected_steps(num_tokens, alpha, gamma):
    law = [float(prob) for prob in tokens_law(alpha, gamma)]

    @cache
    def steps(left):
        return 0.0 if left <= 0 else 1.0 + sum(prob * steps(left - k) for k, prob in enumerate(law, 1))

    return steps(num_tokens)


def forward_costs(n_layer, n_embd, vocab_size, rows, context, bytes_per_number):
    operations = numbers = 0
    for shape in [(n_embd, 3 * n_embd), (n_embd, n_embd), (n_embd, 4 * n_embd), (4 * n_embd, n_embd)] * n_layer:
        operations += 2 * shape[0] * shape[1] * rows
        numbers += shape[0] * shape[1]
    for _ in range(n_layer):
        operations += rows * context * n_embd * 2 + rows * context * n_embd * 2
        numbers += 2 * context * n_embd
    operations += 2 * rows * n_embd * vocab_size
    return float(operations), float((numbers + n_embd * vocab_size) * bytes_per_number)


def tau_by_position(acceptances):
    expected = 1.0
    for acceptance in reversed(acceptances):
        expected = 1.0 + acceptance * expected
    return expected


# %% through_the_distance
# Acceptance as 1 - TV(p, q); Python floats and lists.
def acceptance_probability(p, q):
    return 1 - sum(abs(a - b) for a, b in zip(p.tolist(), q.tolist())) / 2


def tokens_law(alpha, gamma):
    return [(1 - alpha) * alpha**i for i in range(gamma)] + [alpha**gamma]


def roofline_verify_cost(batch, max_rows, ridge):
    one_row = max(1, batch / ridge)
    return [max(1, batch * m / ridge) / one_row for m in range(1, max_rows + 1)]


# %% vectorised
# Arrays instead of loops; NumPy scalars are returned.
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
