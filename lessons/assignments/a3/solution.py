"""A3: what speculation gains, on paper and against the memory wall.

Letters as in Leviathan, Kalman and Matias (2023): alpha is the probability that a drafted token is accepted, gamma the
number of drafted tokens per step, tau the expected tokens per step, c the cost of a draft forward. Costs are in units
of a target forward over one row. `verify_cost[m - 1]` is the cost v(m) of a target forward over m rows, so
`verify_cost[0]` is 1.
"""

import numpy as np


def acceptance_probability(p, q):
    """Q1. Return the probability that a token drawn from q is accepted by rejection sampling against p.

    Examples
    --------
    >>> acceptance_probability(np.array([0.5, 0.5]), np.array([0.9, 0.1]))
    0.6
    """
    # BEGIN SOLUTION
    return float(np.minimum(p, q).sum())
    # END SOLUTION


def tau(alpha, gamma):
    """Q2. Return the expected tokens per step: accepted drafts and the one more that every step yields.

    Acceptances are independent, each of probability alpha; alpha may be 0 or 1, gamma may be 0.

    Examples
    --------
    >>> round(tau(0.8, 5), 5), tau(1.0, 3)
    (3.68928, 4.0)
    """
    # BEGIN SOLUTION
    return float(sum(alpha**k for k in range(gamma + 1)))
    # END SOLUTION


def tokens_law(alpha, gamma):
    """Q2. Return the distribution of the tokens per step: entry i is the probability of i + 1 tokens.

    Returns
    -------
    ndarray of shape (gamma + 1,)

    Examples
    --------
    >>> tokens_law(0.5, 2)
    array([0.5 , 0.25, 0.25])
    """
    # BEGIN SOLUTION
    law = np.array([alpha**i * (1.0 - alpha) for i in range(gamma + 1)])
    law[gamma] = alpha**gamma
    return law
    # END SOLUTION


def estimate(drafted, accepted):
    """Q3. Return the acceptance rate and alpha of a run.

    The rate is accepted / drafted. Alpha is the maximum-likelihood estimate: accepted / judged, where a draft is judged
    if it was accepted or was the first of its step to be rejected. Each is None where it would divide by 0.

    Parameters
    ----------
    drafted, accepted : list of int
        Per step.

    Returns
    -------
    (float or None, float or None)

    Examples
    --------
    >>> estimate([4, 4], [4, 1])
    (0.625, 0.8333333333333334)
    """
    # BEGIN SOLUTION
    num_accepted, num_drafted = sum(accepted), sum(drafted)
    num_judged = sum(a + (a < d) for d, a in zip(drafted, accepted, strict=True))
    return (
        num_accepted / num_drafted if num_drafted else None,
        num_accepted / num_judged if num_judged else None,
    )
    # END SOLUTION


def speedup(alpha, gamma, c, verify_cost):
    """Q4. Return how many times faster than plain decoding: tau over the cost of a step.

    A step costs gamma draft forwards and one target forward over gamma + 1 rows.

    Examples
    --------
    >>> round(speedup(0.8, 5, 0.05, [1.0] * 6), 3)
    2.951
    """
    # BEGIN SOLUTION
    return tau(alpha, gamma) / (gamma * c + verify_cost[gamma])
    # END SOLUTION


def best_gamma(alpha, c, verify_cost):
    """Q4. Return the gamma with the largest speedup among 0 .. len(verify_cost) - 1; the smallest, if several have it.

    Gamma 0 is plain decoding.
    """
    # BEGIN SOLUTION
    return int(np.argmax([speedup(alpha, gamma, c, verify_cost) for gamma in range(len(verify_cost))]))
    # END SOLUTION


def break_even_alpha(gamma, c, verify_cost):
    """Q4. Return the smallest alpha at which drafting gamma >= 1 tokens is no slower than plain decoding.

    None if it is slower even at alpha = 1. Exact to 1e-6.
    """
    # BEGIN SOLUTION
    cost = gamma * c + verify_cost[gamma]
    if gamma + 1 < cost:
        return None
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if tau(middle, gamma) >= cost else (middle, high)
    return high
    # END SOLUTION


def count_weights(n_layer, n_embd, vocab_size):
    """Q5. Return how many numbers the matrices of a GPT-2 hold that a forward multiplies with.

    Per layer: c_attn (C x 3C), c_proj (C x C), c_fc (C x 4C), c_proj of the MLP (4C x C); and once the output matrix
    (C x V). Biases, norms and the lookup of embeddings are left out.
    """
    # BEGIN SOLUTION
    return 12 * n_layer * n_embd**2 + vocab_size * n_embd
    # END SOLUTION


def forward_costs(n_layer, n_embd, vocab_size, rows, context, bytes_per_number):
    """Q5. Return operations and bytes of one target forward over `rows` tokens.

    Operations: a multiplication and an addition per weight and row; and for attention, per row, layer and channel, the
    same for the score and for the weighted sum of each of `context` cached tokens (take `context` for every row).
    Bytes: every weight is read once, and the cached keys and values of `context` tokens are read once.

    Returns
    -------
    (int, int)
    """
    # BEGIN SOLUTION
    weights = count_weights(n_layer, n_embd, vocab_size)
    operations = 2 * weights * rows + 4 * n_layer * n_embd * context * rows
    numbers = weights + 2 * n_layer * n_embd * context
    return operations, numbers * bytes_per_number
    # END SOLUTION


def roofline_time(operations, num_bytes, peak, bandwidth):
    """Q6. Return the least time in seconds: arithmetic and reading overlap perfectly, so the longer one decides.

    Parameters
    ----------
    operations, num_bytes : float
    peak : float
        Operations per second.
    bandwidth : float
        Bytes per second.
    """
    # BEGIN SOLUTION
    return max(operations / peak, num_bytes / bandwidth)
    # END SOLUTION


def ridge_rows(peak, bandwidth, bytes_per_number):
    """Q6. Return the rows at which reading the weights takes as long as the arithmetic with them (no attention).

    Examples
    --------
    >>> ridge_rows(400e9, 40e9, 4)
    20.0
    """
    # BEGIN SOLUTION
    return peak / bandwidth * bytes_per_number / 2
    # END SOLUTION


def roofline_verify_cost(batch, max_rows, ridge):
    """Q6. Return v(1) .. v(max_rows) of a batch of sequences decoded together: entry m - 1 is v(m).

    v(m) is the time of a forward over m rows of each of `batch` sequences, over that of one row of each; weights only,
    no attention. `ridge` is what `ridge_rows` returns.

    Returns
    -------
    ndarray of shape (max_rows,)

    Examples
    --------
    >>> roofline_verify_cost(8, 4, 16.0)
    array([1. , 1. , 1.5, 2. ])
    """
    # BEGIN SOLUTION
    rows = batch * np.arange(1, max_rows + 1)
    return np.maximum(1.0, rows / ridge) / max(1.0, batch / ridge)
    # END SOLUTION


def tau_by_position(acceptances):
    """Q7. Return the expected tokens per step when acceptance depends on the place in the draft.

    Parameters
    ----------
    acceptances : list of float
        Entry i is the probability that draft i is accepted if all before it were.
    """
    # BEGIN SOLUTION
    return float(1.0 + np.cumprod(acceptances).sum())
    # END SOLUTION


def pooled_tau(taus, tokens):
    """Q7. Return tokens per step of several texts taken together.

    Parameters
    ----------
    taus : list of float
        Tokens per step of each text.
    tokens : list of float
        How many tokens each text has.
    """
    # BEGIN SOLUTION
    steps = sum(n / t for n, t in zip(tokens, taus, strict=True))
    return sum(tokens) / steps
    # END SOLUTION


def expected_steps(num_tokens, alpha, gamma):
    """Q8. Return the expected number of steps to generate exactly `num_tokens` tokens; the last one may be cut.

    Examples
    --------
    >>> expected_steps(2, 0.5, 1)
    1.5
    """
    # BEGIN SOLUTION
    law = tokens_law(alpha, gamma)
    steps = [0.0]
    for n in range(1, num_tokens + 1):
        steps.append(1.0 + sum(law[i] * steps[max(0, n - i - 1)] for i in range(gamma + 1)))
    return float(steps[num_tokens])
    # END SOLUTION
