"""Wrong submissions to A3 that no check was written from: what is caught and named of them is counted."""


# %% batch_divides_ridge fails a3.q6.batch is nothing
# The ridge is multiplied by the batch instead of divided.
def roofline_verify_cost(batch, max_rows, ridge):
    rows = np.arange(1, max_rows + 1)
    return np.maximum(1.0, rows / (ridge * batch))


# %% batch_proportional fails a3.q6.batch is batch_linear
# v(m) = m.
def roofline_verify_cost(batch, max_rows, ridge):
    return [float(m) for m in range(1, max_rows + 1)]


# %% best_by_tokens fails a3.q4.best is best_gamma_most_tokens
# The gamma with the largest tau.
def best_gamma(alpha, c, verify_cost):
    gammas = list(range(len(verify_cost)))
    return max(gammas, key=lambda g: tau(alpha, g))


# %% best_last_tie fails a3.q4.best is best_gamma_last_of_ties
# >= where > is meant.
def best_gamma(alpha, c, verify_cost):
    best, fastest = 0, 0.0
    for g in range(len(verify_cost)):
        s = speedup(alpha, g, c, verify_cost)
        if s >= fastest:
            best, fastest = g, s
    return best


# %% break_even_one_always fails a3.q4.break_even is break_even_never_none
# Bisection that ends at 1 where nothing pays.
def break_even_alpha(gamma, c, verify_cost):
    low, high = 0.0, 1.0
    while high - low > 1e-12:
        mid = (low + high) / 2
        low, high = (low, mid) if speedup(mid, gamma, c, verify_cost) >= 1 else (mid, high)
    return high


# %% break_even_simple fails a3.q4.break_even is break_even_linear
# Solves for gamma alpha.
def break_even_alpha(gamma, c, verify_cost):
    needed = c + (verify_cost[gamma] - 1) / gamma
    return None if needed > 1 else needed


# %% costs_reads_weights_for_each_row fails a3.q5.costs is costs_read_per_row
# Bytes grow with the rows.
def forward_costs(n_layer, n_embd, vocab_size, rows, context, bytes_per_number):
    w = count_weights(n_layer, n_embd, vocab_size)
    kv = 2 * n_layer * n_embd * context
    return 2 * rows * (w + kv), rows * (w + kv) * bytes_per_number


# %% costs_scores_only fails a3.q5.costs is costs_attention_half
# Forgets the weighted sum of the values.
def forward_costs(n_layer, n_embd, vocab_size, rows, context, bytes_per_number):
    w = count_weights(n_layer, n_embd, vocab_size)
    scores = 2 * rows * context * n_embd * n_layer
    return 2 * rows * w + scores, (w + 2 * n_layer * n_embd * context) * bytes_per_number


# %% costs_swapped fails a3.q5.costs is nothing
# Bytes first.
right_costs = forward_costs


def forward_costs(*args):
    return right_costs(*args)[::-1]


# %% estimate_as_mean_of_rates fails a3.q3.estimate is estimate_mean_of_steps
# The mean over steps of both ratios.
def estimate(drafted, accepted):
    rates, alphas = [], []
    for d, a in zip(drafted, accepted):
        if d:
            rates.append(a / d)
            alphas.append(a / min(d, a + 1))
    return (float(np.mean(rates)), float(np.mean(alphas))) if rates else (None, None)


# %% estimate_from_first_drafts fails a3.q3.estimate is estimate_first_position_only
# How often the first draft is accepted.
def estimate(drafted, accepted):
    total = sum(drafted)
    steps = sum(1 for d in drafted if d > 0)
    hits = sum(1 for a in accepted if a >= 1)
    return sum(accepted) / total if total else None, hits / steps if steps else None


# %% estimate_order fails a3.q3.estimate is estimate_swapped
# Returns alpha first.
def estimate(drafted, accepted):
    a, d = sum(accepted), sum(drafted)
    judged = sum(min(n, k + 1) for n, k in zip(drafted, accepted))
    return a / judged if judged else None, a / d if d else None


# %% estimate_with_bonus_tokens fails a3.q3.estimate is estimate_counts_the_bonus
# Counts emitted tokens.
def estimate(drafted, accepted):
    emitted = sum(a + 1 for a in accepted)
    judged = sum(min(d, a + 1) for d, a in zip(drafted, accepted))
    return emitted / sum(drafted) if sum(drafted) else None, emitted / judged if judged else None


# %% f_ap_l1 fails a3.q1.overlap is overlap_full_l1
# 1 - L1.
def acceptance_probability(p, q):
    return float(1 - np.abs(p - q).sum())


# %% f_ap_max fails a3.q1.overlap is overlap_max
# Sum of the larger ones.
def acceptance_probability(p, q):
    return float(np.maximum(p, q).sum())


# %% f_be_grid fails a3.q4.break_even is break_even_coarse
# A grid of hundredths.
def break_even_alpha(gamma, c, verify_cost):
    for i in range(101):
        if speedup(i / 100, gamma, c, verify_cost) >= 1:
            return i / 100
    return None


# %% f_be_none_at_one fails a3.q4.speedup is break_even_not_at_one
# None where alpha is exactly 1.
def break_even_alpha(gamma, c, verify_cost):
    cost = gamma * c + verify_cost[gamma]
    if gamma + 1 <= cost:
        return None
    lo, hi = 0.0, 1.0
    for _ in range(60):
        m = (lo + hi) / 2
        if tau(m, gamma) < cost:
            lo = m
        else:
            hi = m
    return hi


# %% f_best_cheapest fails a3.q4.speedup is nothing
# The smallest cost.
def best_gamma(alpha, c, verify_cost):
    return int(np.argmin([g * c + verify_cost[g] for g in range(len(verify_cost))]))


# %% f_best_from_one fails a3.q4.best is best_gamma_never_zero
# Gamma from 1.
def best_gamma(alpha, c, verify_cost):
    return (
        max(range(1, len(verify_cost)), key=lambda g: speedup(alpha, g, c, verify_cost)) if len(verify_cost) > 1 else 0
    )


# %% f_best_last_tie fails a3.q4.best is best_gamma_last_of_ties
# The largest of equals.
def best_gamma(alpha, c, verify_cost):
    best, value = 0, 0
    for g in range(len(verify_cost)):
        s = speedup(alpha, g, c, verify_cost)
        if s >= value:
            best, value = g, s
    return best


# %% f_costs_cache_rows fails a3.q5.costs is costs_cache_per_row
# The cache is read once per row.
def forward_costs(n_layer, n_embd, vocab_size, rows, context, bytes_per_number):
    w = count_weights(n_layer, n_embd, vocab_size)
    return (2 * w + 4 * n_layer * n_embd * context) * rows, (
        w + 2 * n_layer * n_embd * context * rows
    ) * bytes_per_number


# %% f_costs_no_cache_bytes fails a3.q5.weights is nothing
# The cache is not read.
def forward_costs(n_layer, n_embd, vocab_size, rows, context, bytes_per_number):
    w = count_weights(n_layer, n_embd, vocab_size)
    return (2 * w + 4 * n_layer * n_embd * context) * rows, w * bytes_per_number


# %% f_costs_rows_read fails a3.q5.costs is costs_read_per_row
# Weights are read per row.
def forward_costs(n_layer, n_embd, vocab_size, rows, context, bytes_per_number):
    w = count_weights(n_layer, n_embd, vocab_size)
    return (2 * w + 4 * n_layer * n_embd * context) * rows, (
        w * rows + 2 * n_layer * n_embd * context
    ) * bytes_per_number


# %% f_es_law_index fails a3.q8.steps is steps_per_draft
# Law shifted by one.
def expected_steps(num_tokens, alpha, gamma):
    law = tokens_law(alpha, gamma)
    s = [0.0]
    for n in range(1, num_tokens + 1):
        own = law[0]
        rest = 1 + sum(law[k] * s[max(0, n - k)] for k in range(1, gamma + 1))
        s.append(rest / (1 - own) if own < 1 else float(n))
    return float(s[num_tokens])


# %% f_es_no_overshoot fails a3.q8.steps is steps_overshoot_half
# Steps that overshoot are left out.
def expected_steps(num_tokens, alpha, gamma):
    law = tokens_law(alpha, gamma)
    s = [0.0]
    for n in range(1, num_tokens + 1):
        s.append(1 + sum(law[k - 1] * s[n - k] for k in range(1, min(n, gamma + 1) + 1) if n - k >= 0) - 0.0)
    return s[num_tokens] * 1.0 if num_tokens < gamma else s[num_tokens] - 0.5 * (num_tokens > 1)


# %% f_es_ratio fails a3.q8.steps is steps_quotient
# N / tau.
def expected_steps(num_tokens, alpha, gamma):
    return num_tokens / tau(alpha, gamma)


# %% f_est_mean_ratio fails a3.q3.estimate is estimate_mean_of_steps
# Mean of ratios by step.
def estimate(drafted, accepted):
    d, a = sum(drafted), sum(accepted)
    rs = [x / y for x, y in zip(accepted, drafted) if y]
    j = sum(min(x + 1, y) for x, y in zip(accepted, drafted))
    return (sum(rs) / len(rs) if rs else None), (a / j if j else None)


# %% f_est_plus_bonus fails a3.q3.estimate is estimate_counts_the_bonus
# Accepted and the bonus over drafted.
def estimate(drafted, accepted):
    d, a = sum(drafted), sum(accepted)
    j = sum(min(x + 1, y) for x, y in zip(accepted, drafted))
    return ((a + len(accepted)) / d if d else None), (a / j if j else None)


# %% f_est_zero_for_none fails a3.q3.estimate is estimate_zero_for_nothing
# 0.0 for nothing.
def estimate(drafted, accepted):
    d, a = sum(drafted), sum(accepted)
    j = sum(min(x + 1, y) for x, y in zip(accepted, drafted))
    return (a / d if d else 0.0), (a / j if j else 0.0)


# %% f_law_binomial fails a3.q2.law is law_binomial
# Binomial.
def tokens_law(alpha, gamma):
    from math import comb

    return np.array([comb(gamma, k) * alpha**k * (1 - alpha) ** (gamma - k) for k in range(gamma + 1)])


# %% f_law_index fails a3.q2.law is law_shifted
# Shifted, with an entry for zero tokens.
def tokens_law(alpha, gamma):
    law = [0.0] + [(1 - alpha) * alpha**k for k in range(gamma)] + [alpha**gamma]
    return np.array(law)


# %% f_law_renormalised fails a3.q2.law is law_normalised
# Geometric, normalised.
def tokens_law(alpha, gamma):
    w = np.array([alpha**k for k in range(gamma + 1)], float)
    return w / w.sum()


# %% f_pt_harmonic fails a3.q7.pooled is pooled_harmonic_unweighted
# Harmonic, unweighted.
def pooled_tau(taus, tokens):
    return len(taus) / sum(1 / t for t in taus)


# %% f_pt_mean fails a3.q7.pooled is pooled_mean
# Mean.
def pooled_tau(taus, tokens):
    return sum(taus) / len(taus)


# %% f_ridge_int fails a3.q6.time is nothing
# Whole number.
def ridge_rows(peak, bandwidth, bytes_per_number):
    return peak * bytes_per_number // (2 * bandwidth)


# %% f_ridge_intensity fails a3.q6.ridge is ridge_intensity
# Peak / bandwidth.
def ridge_rows(peak, bandwidth, bytes_per_number):
    return peak / bandwidth


# %% f_rv_absolute fails a3.q6.batch is batch_not_relative
# Not over one row.
def roofline_verify_cost(batch, max_rows, ridge):
    return np.maximum(1.0, batch * np.arange(1, max_rows + 1) / ridge)


# %% f_rv_sum fails a3.q6.batch is batch_one_plus
# Time is the sum.
def roofline_verify_cost(batch, max_rows, ridge):
    def t(m):
        return 1.0 + batch * m / ridge

    return np.array([t(m) / t(1) for m in range(1, max_rows + 1)])


# %% f_speed_index fails a3.q4.speedup is speedup_verify_gamma_rows
# Verify_cost[gamma - 1].
def speedup(alpha, gamma, c, verify_cost):
    return tau(alpha, gamma) / (gamma * c + verify_cost[gamma - 1])


# %% f_speed_inverse fails a3.q4.speedup is speedup_inverted
# Cost per token.
def speedup(alpha, gamma, c, verify_cost):
    return (gamma * c + verify_cost[gamma]) / tau(alpha, gamma)


# %% f_speed_product fails a3.q4.speedup is speedup_verify_each
# Verify cost times tau's denominators: multiplied by gamma + 1.
def speedup(alpha, gamma, c, verify_cost):
    return tau(alpha, gamma) / (gamma * c + verify_cost[gamma] * (gamma + 1))


# %% f_tau_div_zero fails a3.q2.tau is tau_divides_by_zero
# Closed form, divides by zero at alpha 1.
def tau(alpha, gamma):
    return (1 - alpha ** (gamma + 1)) / (1 - alpha)


# %% f_tau_no_bonus fails a3.q2.tau is tau_without_bonus
# Without the bonus.
def tau(alpha, gamma):
    return float(sum(alpha**k for k in range(1, gamma + 1)))


# %% f_tau_unbounded fails a3.q2.tau is tau_unlimited
# 1 / (1 - alpha).
def tau(alpha, gamma):
    return gamma + 1.0 if alpha == 1 else 1.0 / (1.0 - alpha)


# %% f_tbp_mean fails a3.q7.position is position_mean
# Tau of the mean.
def tau_by_position(acceptances):
    return tau(float(np.mean(acceptances)), len(acceptances)) if len(acceptances) else 1.0


# %% f_tbp_sum fails a3.q7.position is position_sum
# Sums without products.
def tau_by_position(acceptances):
    return 1.0 + sum(acceptances)


# %% f_time_intensity fails a3.q6.time is nothing
# Multiplied.
def roofline_time(operations, num_bytes, peak, bandwidth):
    return operations / min(peak, bandwidth * operations / max(num_bytes, 1e-30)) * 2


# %% f_time_min fails a3.q6.time is time_min
# Smaller.
def roofline_time(operations, num_bytes, peak, bandwidth):
    return min(operations / peak, num_bytes / bandwidth)


# %% f_weights_mlp_half fails a3.q5.weights is weights_half_mlp
# The MLP once.
def count_weights(n_layer, n_embd, vocab_size):
    return 8 * n_layer * n_embd**2 + vocab_size * n_embd


# %% f_weights_no_output fails a3.q5.weights is weights_without_output
# Without the output matrix.
def count_weights(n_layer, n_embd, vocab_size):
    return 12 * n_layer * n_embd**2


# %% f_weights_qkv_missing fails a3.q5.weights is nothing
# 9 C^2 a layer: c_attn is C x C... (12 - 3).
def count_weights(n_layer, n_embd, vocab_size):
    return n_layer * (n_embd * n_embd + n_embd * n_embd + 8 * n_embd * n_embd) + vocab_size * n_embd


# %% law_as_survival fails a3.q2.law is law_of_survival
# P(N > i).
def tokens_law(alpha, gamma):
    survival = [1.0]
    for _ in range(gamma):
        survival.append(survival[-1] * alpha)
    return survival


# %% law_of_independent_positions fails a3.q2.law is law_binomial
# Counts accepted drafts in any places.
def tokens_law(alpha, gamma):
    law = np.array([1.0])
    for _ in range(gamma):
        law = np.convolve(law, [1 - alpha, alpha])
    return law


# %% law_too_long fails a3.q2.law is nothing
# Has an entry for zero tokens.
right_law = tokens_law


def tokens_law(alpha, gamma):
    return np.concatenate([[0.0], right_law(alpha, gamma)])


# %% overlap_average_acceptance fails a3.q1.overlap is overlap_mean_ratio
# Averages min(1, p/q) over the vocabulary.
def acceptance_probability(p, q):
    ratios = [min(1.0, a / b) if b > 0 else 0.0 for a, b in zip(p, q)]
    return float(np.mean(ratios))


# %% overlap_minus_whole_distance fails a3.q1.overlap is overlap_full_l1
# 1 - sum
def acceptance_probability(p, q):
    distance = 0.0
    for a, b in zip(p, q):
        distance += abs(a - b)
    return float(1 - distance)


# %% overlap_of_maxima fails a3.q1.overlap is overlap_max
# Sums the larger of the two.
def acceptance_probability(p, q):
    return sum(max(a, b) for a, b in zip(p.tolist(), q.tolist()))


# %% pooled_harmonic fails a3.q7.pooled is pooled_harmonic_unweighted
# statistics.harmonic_mean without weights.
from statistics import harmonic_mean


def pooled_tau(taus, tokens):
    return harmonic_mean(taus)


# %% pooled_plain fails a3.q7.pooled is pooled_mean
# np.mean.
def pooled_tau(taus, tokens):
    return float(np.mean(taus))


# %% position_added fails a3.q7.position is position_sum
# 1 + the sum of the acceptances.
def tau_by_position(acceptances):
    return 1 + float(np.sum(acceptances))


# %% ridge_without_the_factor fails a3.q6.ridge is ridge_without_two
# One operation per weight.
def ridge_rows(peak, bandwidth, bytes_per_number):
    seconds_per_weight = bytes_per_number / bandwidth
    return seconds_per_weight * peak


# %% speedup_as_time fails a3.q4.speedup is speedup_inverted
# Returns time per token.
def speedup(alpha, gamma, c, verify_cost):
    step = gamma * c + verify_cost[gamma]
    return step / tau(alpha, gamma)


# %% speedup_drafts_also_the_bonus fails a3.q4.speedup is speedup_draft_of_gamma_plus_one
# One draft forward too many.
def speedup(alpha, gamma, c, verify_cost):
    rows = gamma + 1
    return tau(alpha, gamma) / (rows * c + verify_cost[rows - 1])


# %% speedup_free_drafts fails a3.q4.speedup is speedup_without_drafts_cost
# c is not used.
def speedup(alpha, gamma, c, verify_cost):
    return sum(alpha**i for i in range(gamma + 1)) / verify_cost[gamma]


# %% speedup_without_bonus fails a3.q4.speedup is nothing
# Accepted drafts over the cost of a step.
def speedup(alpha, gamma, c, verify_cost):
    return (tau(alpha, gamma) - 1) / (gamma * c + verify_cost[gamma])


# %% steps_by_simulation_of_means fails a3.q8.steps is nothing
# Tokens over tau, plus half a step.
def expected_steps(num_tokens, alpha, gamma):
    return num_tokens / tau(alpha, gamma) + 0.5 if num_tokens else 0.0


# %% steps_of_at_least_one fails a3.q8.steps is steps_at_least_one
# The recursion begins at one step for no tokens.
from functools import cache


def expected_steps(num_tokens, alpha, gamma):
    law = list(tokens_law(alpha, gamma))

    @cache
    def expect(n):
        return 0.0 if n <= 0 else 1.0 + sum(p * expect(n - k) for k, p in enumerate(law, 1))

    return expect(num_tokens) if num_tokens else 1.0


# %% tau_counts_one_too_many fails a3.q2.tau is tau_one_power_long
# range(gamma + 2).
def tau(alpha, gamma):
    powers = np.full(gamma + 2, float(alpha)) ** np.arange(gamma + 2)
    return float(powers.sum())


# %% tau_full_or_nothing fails a3.q2.tau is tau_last_power_only
# Either all drafts count or none.
def tau(alpha, gamma):
    all_accepted = alpha**gamma
    return all_accepted * (gamma + 1) + (1 - all_accepted) * 1.0


# %% tau_infinite fails a3.q2.tau is tau_unlimited
# The sum of the whole geometric series.
def tau(alpha, gamma):
    if alpha == 1:
        return gamma + 1.0
    return (1 - alpha) ** -1


# %% time_shorter fails a3.q6.time is time_min
# min for max.
def roofline_time(operations, num_bytes, peak, bandwidth):
    compute, memory = operations / peak, num_bytes / bandwidth
    return compute if compute < memory else memory


# %% weights_counted_twice fails a3.q5.weights is weights_with_embeddings
# wte as input and as output.
def count_weights(n_layer, n_embd, vocab_size):
    return vocab_size * n_embd + n_layer * 12 * n_embd**2 + n_embd * vocab_size


# %% weights_without_attention_output fails a3.q5.weights is weights_no_projection
# 3 + 8 instead of 3 + 1 + 8.
def count_weights(n_layer, n_embd, vocab_size):
    return n_layer * (3 + 4 + 4) * n_embd * n_embd + n_embd * vocab_size
