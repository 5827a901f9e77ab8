"""Mistakes that students make in A3; minispec/course/grading/catalogue.py says how to read and write them."""


# %% batch_added fails a3.q6.batch in roofline_verify_cost
# You add the further rows of one sequence to the batch; each of its sequences has m rows: batch x m.
# - rows = batch * np.arange(1, max_rows + 1)
# + rows = batch + np.arange(max_rows)


# %% batch_from_zero fails a3.q6.batch
# Your first entry is v(0); entry m - 1 is v(m).
def roofline_verify_cost(batch, max_rows, ridge):
    return np.maximum(1.0, batch * np.arange(max_rows) / ridge) / max(1.0, batch / ridge)


# %% batch_ignored fails a3.q6.batch
# You ignore the batch: m rows of each sequence make batch x m rows of one forward.
def roofline_verify_cost(batch, max_rows, ridge):
    return np.maximum(1.0, np.arange(1, max_rows + 1) / ridge)


# %% batch_linear fails a3.q6.batch
# You let v grow from the first row; below the ridge further rows are free.
def roofline_verify_cost(batch, max_rows, ridge):
    return np.arange(1.0, max_rows + 1.0)


# %% batch_not_relative fails a3.q6.batch
# Your v(1) is not 1: divide by the time of one row of each sequence, which is itself above the ridge here.
def roofline_verify_cost(batch, max_rows, ridge):
    return np.maximum(1.0, batch * np.arange(1, max_rows + 1) / ridge)


# %% batch_one_plus fails a3.q6.batch
# You add the arithmetic to the reading; the longer of the two decides.
def roofline_verify_cost(batch, max_rows, ridge):
    return (1.0 + batch * np.arange(1, max_rows + 1) / ridge) / (1.0 + batch / ridge)


# %% batch_whole_ridge fails a3.q6.batch
# You cut the ridge to a whole number; it need not be one.
def roofline_verify_cost(batch, max_rows, ridge):
    times = np.maximum(1.0, batch * np.arange(1, max_rows + 1) / max(1, int(ridge)))
    return times / times[0]


# %% batch_whole_ridges fails a3.q6.batch
# You round the time up to whole multiples of the ridge; beyond it every row takes its share.
def roofline_verify_cost(batch, max_rows, ridge):
    times = np.maximum(1.0, np.ceil(batch * np.arange(1, max_rows + 1) / ridge))
    return times / times[0]


# %% best_gamma_climbs fails a3.q4.best
# You stop where the next gamma is no better; verification may have steps, behind which it pays again. Compare all
# of them.
def best_gamma(alpha, c, verify_cost):
    gamma = 0
    while gamma + 1 < len(verify_cost):
        if speedup(alpha, gamma + 1, c, verify_cost) <= speedup(alpha, gamma, c, verify_cost):
            break
        gamma += 1
    return gamma


# %% best_gamma_first_peak fails a3.q4.best
# You stop as soon as one more draft does not help against plain decoding; compare all of them.
def best_gamma(alpha, c, verify_cost):
    best = 0
    for gamma in range(1, len(verify_cost)):
        if speedup(alpha, gamma, c, verify_cost) > 1.0:
            best = gamma
    return best


# %% best_gamma_last_of_ties fails a3.q4.best in best_gamma
# Of several gammas that are equally fast you take the largest; take the smallest.
# - return int(np.argmax([speedup(alpha, gamma, c, verify_cost) for gamma in range(len(verify_cost))]))
# + speedups = [speedup(alpha, gamma, c, verify_cost) for gamma in range(len(verify_cost))]
# + return len(speedups) - 1 - int(np.argmax(speedups[::-1]))


# %% best_gamma_misses_the_last fails a3.q4.best in best_gamma
# You never try the largest gamma, len(verify_cost) - 1.
# - return int(np.argmax([speedup(alpha, gamma, c, verify_cost) for gamma in range(len(verify_cost))]))
# + return int(np.argmax([speedup(alpha, gamma, c, verify_cost) for gamma in range(max(1, len(verify_cost) - 1))]))


# %% best_gamma_most_tokens fails a3.q4.best in best_gamma
# You maximise tokens per step; longer drafts always win that. Maximise the speedup.
# - return int(np.argmax([speedup(alpha, gamma, c, verify_cost) for gamma in range(len(verify_cost))]))
# + return int(np.argmax([tau(alpha, gamma) for gamma in range(len(verify_cost))]))


# %% best_gamma_never_zero fails a3.q4.best in best_gamma
# You start from gamma = 1; where drafts do not pay, 0 is best.
# - return int(np.argmax([speedup(alpha, gamma, c, verify_cost) for gamma in range(len(verify_cost))]))
# + return 1 + int(np.argmax([speedup(alpha, gamma, c, verify_cost) for gamma in range(1, len(verify_cost))]))


# %% best_gamma_returns_the_speedup fails a3.q4.best in best_gamma
# You return the best speedup; the gamma that reaches it is wanted.
# - return int(np.argmax([speedup(alpha, gamma, c, verify_cost) for gamma in range(len(verify_cost))]))
# + return max(speedup(alpha, gamma, c, verify_cost) for gamma in range(len(verify_cost)))


# %% best_gamma_rounds fails a3.q4.best
# You round the speedups before you compare them; a little faster is faster.
def best_gamma(alpha, c, verify_cost):
    speedups = [round(speedup(alpha, gamma, c, verify_cost), 2) for gamma in range(len(verify_cost))]
    return speedups.index(max(speedups))


# %% break_even_coarse fails a3.q4.break_even
# Your answer is too coarse: it must be exact to 1e-6. Halve the interval until it is that short.
def break_even_alpha(gamma, c, verify_cost):
    alphas = np.linspace(0.0, 1.0, 1001)
    paying = [alpha for alpha in alphas if tau(alpha, gamma) >= gamma * c + verify_cost[gamma] - 1e-12]
    return float(paying[0]) if paying else None


# %% break_even_is_c fails a3.q4.break_even
# You say alpha = c: that is where *some* gamma pays when verification is free, not this one.
def break_even_alpha(gamma, c, verify_cost):
    return float(c) if c < 1.0 else None


# %% break_even_linear fails a3.q4.break_even
# You solve 1 + alpha gamma = cost; tau is not linear in alpha.
def break_even_alpha(gamma, c, verify_cost):
    alpha = (gamma * c + verify_cost[gamma] - 1.0) / gamma
    return alpha if alpha <= 1.0 else None


# %% break_even_never_none fails a3.q4.break_even
# Where even alpha = 1 is not enough you return a number; return None.
right_break_even = break_even_alpha


def break_even_alpha(gamma, c, verify_cost):
    alpha = right_break_even(gamma, c, verify_cost)
    return 1.0 if alpha is None else alpha


# %% break_even_with_free_verification fails a3.q4.break_even
# You leave verify_cost out: the cost of a step is gamma c + v(gamma + 1).
right_break_even = break_even_alpha


def break_even_alpha(gamma, c, verify_cost):
    return right_break_even(gamma, c, [1.0] * len(verify_cost))


# %% costs_attention_half fails a3.q5.costs
# You count the scores or the weighted sum; attention does both: four operations per channel and cached token.
def forward_costs(n_layer, n_embd, vocab_size, rows, context, bytes_per_number):
    weights = count_weights(n_layer, n_embd, vocab_size)
    operations = 2 * weights * rows + 2 * n_layer * n_embd * context * rows
    return operations, (weights + 2 * n_layer * n_embd * context) * bytes_per_number


# %% costs_attention_of_one_row fails a3.q5.costs
# You count attention once; every row has a query of its own.
def forward_costs(n_layer, n_embd, vocab_size, rows, context, bytes_per_number):
    weights = count_weights(n_layer, n_embd, vocab_size)
    operations = 2 * weights * rows + 4 * n_layer * n_embd * context
    return operations, (weights + 2 * n_layer * n_embd * context) * bytes_per_number


# %% costs_cache_per_row fails a3.q5.costs
# You read the cached keys and values once per row; a forward reads them once.
def forward_costs(n_layer, n_embd, vocab_size, rows, context, bytes_per_number):
    weights = count_weights(n_layer, n_embd, vocab_size)
    operations = 2 * rows * weights + 4 * rows * context * n_layer * n_embd
    return operations, bytes_per_number * (weights + rows * 2 * n_layer * context * n_embd)


# %% costs_cache_written fails a3.q5.costs in forward_costs
# You add the new rows' keys and values to the bytes; only what is read counts, the weights and the cached tokens.
# - numbers = weights + 2 * n_layer * n_embd * context
# - return operations, numbers * bytes_per_number
# + return operations, (weights + 2 * n_layer * n_embd * (context + rows)) * bytes_per_number


# %% costs_keys_only fails a3.q5.costs in forward_costs
# You read the cached keys but not the values.
# - numbers = weights + 2 * n_layer * n_embd * context
# - return operations, numbers * bytes_per_number
# + return operations, (weights + n_layer * n_embd * context) * bytes_per_number


# %% costs_no_attention fails a3.q5.costs
# The attention over the context is missing.
def forward_costs(n_layer, n_embd, vocab_size, rows, context, bytes_per_number):
    weights = count_weights(n_layer, n_embd, vocab_size)
    return 2 * weights * rows, weights * bytes_per_number


# %% costs_numbers_not_bytes fails a3.q5.costs in forward_costs
# You return how many numbers are read, not how many bytes.
# - numbers = weights + 2 * n_layer * n_embd * context
# - return operations, numbers * bytes_per_number
# + return operations, weights + 2 * n_layer * n_embd * context


# %% costs_one_operation_per_weight fails a3.q5.costs
# You count one operation per weight and row; there are two, a multiplication and an addition.
def forward_costs(n_layer, n_embd, vocab_size, rows, context, bytes_per_number):
    weights = count_weights(n_layer, n_embd, vocab_size)
    operations = weights * rows + 2 * n_layer * n_embd * context * rows
    return operations, (weights + 2 * n_layer * n_embd * context) * bytes_per_number


# %% costs_one_row fails a3.q5.costs
# Your operations do not grow with the rows.
def forward_costs(n_layer, n_embd, vocab_size, rows, context, bytes_per_number):
    weights = count_weights(n_layer, n_embd, vocab_size)
    operations = 2 * weights + 4 * n_layer * n_embd * context
    return operations, (weights + 2 * n_layer * n_embd * context) * bytes_per_number


# %% costs_output_of_one_row fails a3.q5.costs
# You multiply one row with the output matrix; each of the rows is multiplied with all weights.
def forward_costs(n_layer, n_embd, vocab_size, rows, context, bytes_per_number):
    output = n_embd * vocab_size
    weights = count_weights(n_layer, n_embd, vocab_size)
    operations = 2 * (weights - output) * rows + 2 * output + 4 * rows * context * n_layer * n_embd
    return operations, bytes_per_number * (weights + 2 * n_layer * context * n_embd)


# %% costs_rows_are_context fails a3.q5.costs
# You count the new rows among the cached tokens; take `context` for every row, and read no more than that.
def forward_costs(n_layer, n_embd, vocab_size, rows, context, bytes_per_number):
    weights, seen = count_weights(n_layer, n_embd, vocab_size), context + rows
    operations = 2 * weights * rows + 4 * n_layer * n_embd * seen * rows
    return operations, (weights + 2 * n_layer * n_embd * seen) * bytes_per_number


# %% costs_read_per_row fails a3.q5.costs in forward_costs
# You read the weights once per row; a forward reads them once for all its rows. That is why verifying is cheap.
# - numbers = weights + 2 * n_layer * n_embd * context
# - return operations, numbers * bytes_per_number
# + return operations, (weights + 2 * n_layer * n_embd * context) * bytes_per_number * rows


# %% estimate_always_one_rejection fails a3.q3.estimate
# You count a rejection in every step; a step whose drafts were all accepted has none.
def estimate(drafted, accepted):
    judged = sum(accepted) + len(accepted)
    return (sum(accepted) / sum(drafted) if sum(drafted) else None, sum(accepted) / judged if judged else None)


# %% estimate_always_one_rejection_of_drafts fails a3.q3.estimate
# You count a rejection in every step with drafts; a step whose drafts were all accepted has none.
def estimate(drafted, accepted):
    judged = sum(a + 1 for d, a in zip(drafted, accepted) if d)
    return (sum(accepted) / sum(drafted) if sum(drafted) else None, sum(accepted) / judged if judged else None)


# %% estimate_counts_the_bonus fails a3.q3.estimate
# You count the extra token of each step as accepted; it was never drafted.
def estimate(drafted, accepted):
    plus = sum(accepted) + len(accepted)
    judged = sum(a + (a < d) for d, a in zip(drafted, accepted, strict=True))
    return (plus / sum(drafted) if sum(drafted) else None, plus / judged if judged else None)


# %% estimate_divides_by_zero fails a3.q3.estimate
# Where nothing was drafted you divide by zero; return None.
def estimate(drafted, accepted):
    judged = sum(a + (1 if a < d else 0) for d, a in zip(drafted, accepted))
    return sum(accepted) / sum(drafted), sum(accepted) / judged


# %% estimate_first_position_only fails a3.q3.estimate
# Your alpha looks at the first draft of each step only; every judged draft counts.
def estimate(drafted, accepted):
    first = [a > 0 for d, a in zip(drafted, accepted, strict=True) if d]
    rate = sum(accepted) / sum(drafted) if sum(drafted) else None
    return rate, (sum(first) / len(first) if first else None)


# %% estimate_fixed_gamma fails a3.q3.estimate
# You take the first step's number of drafts for all; steps draft differently.
def estimate(drafted, accepted):
    num_drafted = len(drafted) * drafted[0] if drafted else 0
    judged = sum(a + (a < drafted[0]) for a in accepted)
    return (sum(accepted) / num_drafted if num_drafted else None, sum(accepted) / judged if judged else None)


# %% estimate_mean_of_steps fails a3.q3.estimate
# You average the ratios of the steps; long steps must weigh more: divide the sums.
def estimate(drafted, accepted):
    steps = [(a, d) for d, a in zip(drafted, accepted, strict=True) if d]
    if not steps:
        return None, None
    return (
        sum(a / d for a, d in steps) / len(steps),
        sum(a / (a + (a < d)) for a, d in steps) / len(steps),
    )


# %% estimate_only_perfect_steps fails a3.q3.estimate
# Your alpha is the share of steps that accepted everything; it is about single drafts.
def estimate(drafted, accepted):
    rate = sum(accepted) / sum(drafted) if sum(drafted) else None
    perfect = [a == d for d, a in zip(drafted, accepted) if d]
    return rate, (sum(perfect) / len(perfect) if perfect else None)


# %% estimate_rate_as_alpha fails a3.q3.estimate
# Your alpha is the acceptance rate: drafts behind the first rejection were never judged and do not count.
def estimate(drafted, accepted):
    rate = sum(accepted) / sum(drafted) if sum(drafted) else None
    return rate, rate


# %% estimate_swapped fails a3.q3.estimate
# Rate and alpha are swapped.
right_estimate = estimate


def estimate(drafted, accepted):
    return right_estimate(drafted, accepted)[::-1]


# %% estimate_without_perfect_steps fails a3.q3.estimate
# Your alpha leaves out the steps that accepted everything; their drafts were judged too.
def estimate(drafted, accepted):
    rate = sum(accepted) / sum(drafted) if sum(drafted) else None
    stopped = [a for d, a in zip(drafted, accepted) if a < d]
    judged = sum(stopped) + len(stopped)
    return rate, (sum(stopped) / judged if judged else None)


# %% estimate_zero_for_nothing fails a3.q3.estimate
# Where nothing was drafted you say 0; that would mean everything was rejected. Return None.
right_estimate = estimate


def estimate(drafted, accepted):
    return tuple(0.0 if figure is None else figure for figure in right_estimate(drafted, accepted))


# %% law_binomial fails a3.q2.law
# You use the binomial distribution: it counts accepted drafts wherever they stand. A draft behind a rejection is
# void.
def tokens_law(alpha, gamma):
    from math import comb

    return np.array([comb(gamma, i) * alpha**i * (1.0 - alpha) ** (gamma - i) for i in range(gamma + 1)])


# %% law_last_power fails a3.q2.law in tokens_law
# Your last entry is alpha ** (gamma + 1); all gamma drafts are accepted with probability alpha ** gamma.
# - law[gamma] = alpha**gamma
# + law[gamma] = alpha ** (gamma + 1)


# %% law_normalised fails a3.q2.law
# You scale a geometric law so that it sums to 1; what is beyond gamma + 1 tokens belongs to the last entry alone.
def tokens_law(alpha, gamma):
    law = np.array([alpha**i for i in range(gamma + 1)], float)
    return law / law.sum()


# %% law_of_survival fails a3.q2.law
# Your entries are the probabilities of *at least* so many tokens; take differences.
def tokens_law(alpha, gamma):
    return np.array([float(alpha) ** i for i in range(gamma + 1)])


# %% law_reversed fails a3.q2.law
# Your law is the wrong way round: entry 0 is one token.
right_law = tokens_law


def tokens_law(alpha, gamma):
    return np.asarray(right_law(alpha, gamma))[::-1].copy()


# %% law_shifted fails a3.q2.law in tokens_law
# Your entry i is the probability of i accepted drafts with at least one; entry 0 is one token, no draft accepted.
# - law = np.array([alpha**i * (1.0 - alpha) for i in range(gamma + 1)])
# - law[gamma] = alpha**gamma
# + law = np.array([alpha ** (i + 1) * (1.0 - alpha) for i in range(gamma + 1)])
# + law[gamma] = 1.0 - law[:gamma].sum()


# %% law_with_no_token fails a3.q2.law
# Your law begins with no token at all; every step yields at least one, so there are gamma + 1 entries.
def tokens_law(alpha, gamma):
    return np.array([alpha**k * (1.0 - alpha) for k in range(gamma + 1)] + [alpha ** (gamma + 1)])


# %% law_without_the_cap fails a3.q2.law
# Your law is geometric to the end; all that would go beyond gamma + 1 tokens belongs to the last entry, alpha**gamma.
def tokens_law(alpha, gamma):
    return np.array([alpha**i * (1.0 - alpha) for i in range(gamma + 1)])


# %% overlap_at_argmax fails a3.q1.overlap in acceptance_probability
# You look at the draft's likeliest token only; the draft draws from all of q.
# - return float(np.minimum(p, q).sum())
# + return float(min(1.0, p[np.argmax(q)] / np.max(q)))


# %% overlap_distance fails a3.q1.overlap in acceptance_probability
# This is the distance of p and q, the probability of a rejection; acceptance is 1 minus it.
# - return float(np.minimum(p, q).sum())
# + return float(0.5 * np.abs(p - q).sum())


# %% overlap_dot_product fails a3.q1.overlap in acceptance_probability
# You sum p q: that is how often two independent draws agree. Rejection sampling accepts more: the sum of min(p, q).
# - return float(np.minimum(p, q).sum())
# + return float((p * q).sum())


# %% overlap_full_l1 fails a3.q1.overlap in acceptance_probability
# You subtract the whole L1 distance; the total variation is half of it.
# - return float(np.minimum(p, q).sum())
# + return float(1.0 - np.abs(p - q).sum())


# %% overlap_geometric fails a3.q1.overlap in acceptance_probability
# You add up the roots of p q; of each token the smaller of p and q counts.
# - return float(np.minimum(p, q).sum())
# + return float(np.sqrt(np.asarray(p) * np.asarray(q)).sum())


# %% overlap_max fails a3.q1.overlap in acceptance_probability
# You take the larger of p and q for each token; the overlap is the smaller.
# - return float(np.minimum(p, q).sum())
# + return float(np.maximum(p, q).sum())


# %% overlap_mean_ratio fails a3.q1.overlap in acceptance_probability
# You average min(1, p/q) over all tokens alike; tokens come with probability q, so weigh by q.
# - return float(np.minimum(p, q).sum())
# + with np.errstate(all="ignore"):
# +     return float(np.minimum(1.0, np.where(q > 0.0, p / q, 0.0)).mean())


# %% overlap_ratio_of_likeliest fails a3.q1.overlap in acceptance_probability
# You look at the target's likeliest token only; any token may be drafted.
# - return float(np.minimum(p, q).sum())
# + best = int(np.argmax(p))
# + return float(min(1.0, q[best] / p[best]))


# %% overlap_ratio_over_all fails a3.q1.overlap in acceptance_probability
# You average min(1, p/q) over the tokens; they are drafted with probability q, so weigh by q.
# - return float(np.minimum(p, q).sum())
# + with np.errstate(all="ignore"):
# +     return float(np.mean(np.minimum(1.0, p / q)))


# %% overlap_weighted_by_p fails a3.q1.overlap in acceptance_probability
# You weigh min(1, p/q) by p; the token is drawn from q.
# - return float(np.minimum(p, q).sum())
# + with np.errstate(all="ignore"):
# +     return float((p * np.minimum(1.0, p / q)).sum())


# %% overlap_where_p_is_larger fails a3.q1.overlap in acceptance_probability
# You add q where p is at least as large; where q is larger, a draft is still accepted with probability p/q, which adds p.
# - return float(np.minimum(p, q).sum())
# + return float(q[p >= q].sum())


# %% overlap_zero_over_zero fails a3.q1.overlap
# Where neither p nor q has a token you divide 0 by 0; there nothing is to be added.
def acceptance_probability(p, q):
    with np.errstate(all="ignore"):
        return float(np.sum(q * np.minimum(1.0, p / q)))


# %% pooled_geometric fails a3.q7.pooled
# You take the geometric mean; tokens per step of several texts together is all tokens over all steps.
def pooled_tau(taus, tokens):
    return float(np.exp(np.log(taus).mean()))


# %% pooled_harmonic_unweighted fails a3.q7.pooled
# You take the harmonic mean as if all texts were equally long; weigh by their tokens.
def pooled_tau(taus, tokens):
    return len(taus) / sum(1.0 / t for t in taus)


# %% pooled_mean fails a3.q7.pooled
# You take the plain mean of the taus; tokens and steps are added up separately, then divided.
def pooled_tau(taus, tokens):
    return sum(taus) / len(taus)


# %% pooled_median fails a3.q7.pooled
# You take the median of the taus; add tokens and steps up separately, then divide.
def pooled_tau(taus, tokens):
    return float(np.median(taus))


# %% pooled_weighted_by_tokens fails a3.q7.pooled
# You weigh the taus by tokens; a text with few tokens per step takes more steps. Divide all tokens by all steps.
def pooled_tau(taus, tokens):
    return sum(t * n for t, n in zip(taus, tokens, strict=True)) / sum(tokens)


# %% position_first fails a3.q7.position in tau_by_position
# You use the first acceptance for all positions.
# - return float(1.0 + np.cumprod(acceptances).sum())
# + return tau(acceptances[0] if len(acceptances) else 0.0, len(acceptances))


# %% position_mean fails a3.q7.position in tau_by_position
# You put the mean acceptance into the formula for equal ones; that is not the same.
# - return float(1.0 + np.cumprod(acceptances).sum())
# + return tau(float(np.mean(acceptances)) if len(acceptances) else 0.0, len(acceptances))


# %% position_product fails a3.q7.position in tau_by_position
# You add only the probability that all are accepted; each accepted beginning yields tokens too.
# - return float(1.0 + np.cumprod(acceptances).sum())
# + return float(1.0 + len(acceptances) * np.prod(acceptances))


# %% position_without_the_last fails a3.q7.position
# You leave out the last draft; it counts if all before it and itself are accepted.
def tau_by_position(acceptances):
    return float(1.0 + np.cumprod(acceptances[:-1]).sum())


# %% position_sum fails a3.q7.position in tau_by_position
# You add the acceptances; a draft counts only if all before it were accepted: multiply along the draft, then add.
# - return float(1.0 + np.cumprod(acceptances).sum())
# + return float(1.0 + sum(acceptances))


# %% position_without_one fails a3.q7.position in tau_by_position
# You forget the token that every step yields besides its drafts.
# - return float(1.0 + np.cumprod(acceptances).sum())
# + return float(np.cumprod(acceptances).sum())


# %% ridge_intensity fails a3.q6.ridge in ridge_rows
# You return operations per byte; a row costs 2 operations per weight of so many bytes.
# - return peak / bandwidth * bytes_per_number / 2
# + return peak / bandwidth


# %% ridge_inverted fails a3.q6.ridge in ridge_rows
# You divide by the bytes of a weight; more bytes mean more time to read, so more rows are free.
# - return peak / bandwidth * bytes_per_number / 2
# + return peak / bandwidth / bytes_per_number / 2


# %% ridge_of_float32 fails a3.q6.ridge
# You take four bytes for every number; use bytes_per_number.
def ridge_rows(peak, bandwidth, bytes_per_number):
    return 4 * peak / (2 * bandwidth)


# %% ridge_per_number fails a3.q6.ridge in ridge_rows
# You forget that a weight has several bytes.
# - return peak / bandwidth * bytes_per_number / 2
# + return peak / bandwidth / 2


# %% ridge_reciprocal fails a3.q6.ridge in ridge_rows
# This is the reciprocal: the share of the ridge that one row has. Turn it over.
# - return peak / bandwidth * bytes_per_number / 2
# + return 2 * bandwidth / (peak * bytes_per_number)


# %% ridge_times_two fails a3.q6.ridge in ridge_rows
# You multiply by the two operations of a weight; more operations per row mean fewer rows: divide.
# - return peak / bandwidth * bytes_per_number / 2
# + return 2 * bytes_per_number * peak / bandwidth


# %% ridge_upside_down fails a3.q6.ridge in ridge_rows
# Your quotient is upside down: bandwidth over peak.
# - return peak / bandwidth * bytes_per_number / 2
# + return bandwidth / peak * bytes_per_number / 2


# %% ridge_without_two fails a3.q6.ridge in ridge_rows
# A row costs two operations per weight: divide by 2.
# - return peak / bandwidth * bytes_per_number / 2
# + return peak / bandwidth * bytes_per_number


# %% speedup_draft_of_gamma_plus_one fails a3.q4.speedup in speedup
# You pay gamma + 1 draft forwards; gamma drafts take gamma.
# - return tau(alpha, gamma) / (gamma * c + verify_cost[gamma])
# + return tau(alpha, gamma) / ((gamma + 1) * c + verify_cost[gamma])


# %% speedup_inverted fails a3.q4.speedup in speedup
# Your quotient is upside down: this is the time relative to plain decoding.
# - return tau(alpha, gamma) / (gamma * c + verify_cost[gamma])
# + return (gamma * c + verify_cost[gamma]) / tau(alpha, gamma)


# %% speedup_last_verify_cost fails a3.q4.speedup
# You take the last entry of verify_cost; a step of gamma drafts pays verify_cost[gamma].
def speedup(alpha, gamma, c, verify_cost):
    return tau(alpha, gamma) / (gamma * c + verify_cost[-1])


# %% speedup_less_one fails a3.q4.speedup
# You return what is gained, speedup - 1; how many times faster is wanted.
def speedup(alpha, gamma, c, verify_cost):
    return tau(alpha, gamma) / (gamma * c + verify_cost[gamma]) - 1.0


def best_gamma(alpha, c, verify_cost):
    return int(np.argmax([speedup(alpha, gamma, c, verify_cost) for gamma in range(len(verify_cost))]))


# %% speedup_one_draft fails a3.q4.speedup in speedup
# You count one draft forward per step; there are gamma.
# - return tau(alpha, gamma) / (gamma * c + verify_cost[gamma])
# + return tau(alpha, gamma) / ((c if gamma else 0.0) + verify_cost[gamma])


# %% speedup_parallel_draft fails a3.q4.speedup in speedup
# You take the longer of drafting and verifying; they follow each other, so add them.
# - return tau(alpha, gamma) / (gamma * c + verify_cost[gamma])
# + return tau(alpha, gamma) / max(gamma * c, verify_cost[gamma])


# %% speedup_verification_is_free fails a3.q4.speedup in speedup
# You take a verifying forward for as cheap as one of a single row; use verify_cost.
# - return tau(alpha, gamma) / (gamma * c + verify_cost[gamma])
# + return tau(alpha, gamma) / (gamma * c + 1.0)


# %% speedup_verify_each fails a3.q4.speedup in speedup
# You pay one target forward per draft; all drafts are verified in one.
# - return tau(alpha, gamma) / (gamma * c + verify_cost[gamma])
# + return tau(alpha, gamma) / (gamma * c + gamma + 1.0)


# %% speedup_verify_gamma_rows fails a3.q4.speedup in speedup
# You verify gamma rows; the pending token is fed too: gamma + 1 rows, verify_cost[gamma].
# - return tau(alpha, gamma) / (gamma * c + verify_cost[gamma])
# + return tau(alpha, gamma) / (gamma * c + verify_cost[max(0, gamma - 1)])


# %% speedup_verify_times_rows fails a3.q4.speedup in speedup
# You pay v(gamma + 1) once for each row; it is what the forward over all these rows costs.
# - return tau(alpha, gamma) / (gamma * c + verify_cost[gamma])
# + return tau(alpha, gamma) / (gamma * c + (gamma + 1) * verify_cost[gamma])


# %% speedup_without_drafts_cost fails a3.q4.speedup in speedup
# Your drafts cost nothing: add gamma c to the cost of a step.
# - return tau(alpha, gamma) / (gamma * c + verify_cost[gamma])
# + return tau(alpha, gamma) / verify_cost[gamma]


# %% steps_at_least_one fails a3.q8.steps
# No tokens take no step: E[0] = 0.
right_steps = expected_steps


def expected_steps(num_tokens, alpha, gamma):
    return right_steps(max(1, num_tokens), alpha, gamma)


# %% steps_drop_the_overshoot fails a3.q8.steps in expected_steps
# You leave out steps that would overshoot; such a step is cut, and then the text is finished.
# -     steps.append(1.0 + sum(law[i] * steps[max(0, n - i - 1)] for i in range(gamma + 1)))
# +     steps.append(1.0 + sum(law[i] * steps[n - i - 1] for i in range(min(gamma + 1, n))) / law[:n].sum())


# %% steps_one_token_for_nothing fails a3.q8.steps in expected_steps
# The last token takes a step, too: E[0] = 0, but E[1] = 1.
# - steps = [0.0]
# - for n in range(1, num_tokens + 1):
# + steps = [0.0, 0.0]
# + for n in range(2, num_tokens + 1):


# %% steps_overshoot_half fails a3.q8.steps in expected_steps
# A step that overshoots finishes the text; nothing is to be added for it.
# -     steps.append(1.0 + sum(law[i] * steps[max(0, n - i - 1)] for i in range(gamma + 1)))
# - return float(steps[num_tokens])
# +     steps.append(1.0 + sum(law[i] * steps[n - i - 1] for i in range(min(gamma + 1, n))) + 0.5 * law[n:].sum())
# + return steps[num_tokens]


# %% steps_overshoot_not_counted fails a3.q8.steps
# A step that overshoots is not counted by you; it is cut, and it is a step.
def expected_steps(num_tokens, alpha, gamma):
    law = tokens_law(alpha, gamma)
    steps = [0.0]
    for n in range(1, num_tokens + 1):
        steps.append(sum(law[k - 1] * (1.0 + steps[n - k]) for k in range(1, min(n, gamma + 1) + 1)))
    return float(steps[num_tokens])


# %% steps_per_draft fails a3.q8.steps in expected_steps
# You take entry i of the law for i tokens; it is i + 1 tokens.
# -     steps.append(1.0 + sum(law[i] * steps[max(0, n - i - 1)] for i in range(gamma + 1)))
# +     stay = law[0] if law[0] < 1.0 else 0.5
# +     rest = sum(law[i] * steps[max(0, n - i)] for i in range(1, gamma + 1))
# +     steps.append((1.0 + rest) / (1.0 - stay))


# %% steps_quotient fails a3.q8.steps
# You divide the tokens by tau: that is right in the long run only. The last step is cut, and a cut step still counts.
def expected_steps(num_tokens, alpha, gamma):
    return num_tokens / tau(alpha, gamma)


# %% steps_rounded_up fails a3.q8.steps
# You round tokens over tau up; the number of steps is random, take its expectation: 1 + sum P(k) E[n - k].
def expected_steps(num_tokens, alpha, gamma):
    return float(np.ceil(num_tokens / tau(alpha, gamma)))


# %% steps_without_this_one fails a3.q8.steps
# Your recursion forgets to count the step itself.
def expected_steps(num_tokens, alpha, gamma):
    law = tokens_law(alpha, gamma)
    steps = [0.0, 1.0]
    for n in range(2, num_tokens + 1):
        steps.append(sum(law[i] * steps[max(0, n - i - 1)] for i in range(gamma + 1)))
    return float(steps[num_tokens])


# %% tau_divides_by_zero fails a3.q2.tau in tau
# At alpha = 1 you divide by zero; then every step yields gamma + 1 tokens.
# - return float(sum(alpha**k for k in range(gamma + 1)))
# + return (1 - alpha ** (gamma + 1)) / (1 - alpha)


# %% tau_last_power_only fails a3.q2.tau in tau
# You weigh full acceptance only; a draft accepted in part yields tokens too.
# - return float(sum(alpha**k for k in range(gamma + 1)))
# + return 1.0 + gamma * alpha**gamma


# %% tau_linear fails a3.q2.tau in tau
# You take alpha gamma + 1: a draft counts only if all before it were accepted.
# - return float(sum(alpha**k for k in range(gamma + 1)))
# + return 1.0 + alpha * gamma


# %% tau_nan_at_one fails a3.q2.tau in tau
# At alpha = 1 your closed form is 0 / 0; then every step yields gamma + 1 tokens.
# - return float(sum(alpha**k for k in range(gamma + 1)))
# + with np.errstate(all="ignore"):
# +     return float(np.divide(1.0 - alpha ** (gamma + 1), 1.0 - alpha))


# %% tau_one_power_long fails a3.q2.tau in tau
# Your sum has one power too many: gamma drafts and one more token make gamma + 1 at most.
# - return float(sum(alpha**k for k in range(gamma + 1)))
# + return float(sum(alpha**k for k in range(gamma + 2)))


# %% tau_one_power_short fails a3.q2.tau in tau
# Your sum stops one short: after full acceptance there is a bonus token, so powers go up to alpha**gamma.
# - return float(sum(alpha**k for k in range(gamma + 1)))
# + return float(sum(alpha**k for k in range(gamma))) if gamma else 1.0


# %% tau_unlimited fails a3.q2.tau in tau
# You use 1 / (1 - alpha), the limit of infinitely long drafts; this one ends after gamma tokens.
# - return float(sum(alpha**k for k in range(gamma + 1)))
# + return 1.0 / (1.0 - alpha) if alpha < 1.0 else gamma + 1.0


# %% tau_without_bonus fails a3.q2.tau in tau
# You count accepted drafts only; every step yields one token more, from the residual or as the bonus.
# - return float(sum(alpha**k for k in range(gamma + 1)))
# + return float(sum(alpha**k for k in range(1, gamma + 1)))


# %% time_arithmetic_only fails a3.q6.time in roofline_time
# You look at the arithmetic only; a forward over one row waits for memory.
# - return max(operations / peak, num_bytes / bandwidth)
# + return operations / peak


# %% time_memory_only fails a3.q6.time in roofline_time
# You look at memory only; a large batch waits for arithmetic.
# - return max(operations / peak, num_bytes / bandwidth)
# + return num_bytes / bandwidth


# %% time_min fails a3.q6.time in roofline_time
# You take the shorter of the two times; the longer one decides.
# - return max(operations / peak, num_bytes / bandwidth)
# + return min(operations / peak, num_bytes / bandwidth)


# %% time_rates_swapped fails a3.q6.time in roofline_time
# You divide operations by the bandwidth and bytes by the peak; it is the other way round.
# - return max(operations / peak, num_bytes / bandwidth)
# + return max(operations / bandwidth, num_bytes / peak)


# %% time_sum fails a3.q6.time in roofline_time
# You add the two times; they overlap, so the longer one decides.
# - return max(operations / peak, num_bytes / bandwidth)
# + return operations / peak + num_bytes / bandwidth


# %% weights_half_mlp fails a3.q5.weights in count_weights
# You count one of the two matrices of the MLP.
# - return 12 * n_layer * n_embd**2 + vocab_size * n_embd
# + return 8 * n_layer * n_embd**2 + vocab_size * n_embd


# %% weights_no_projection fails a3.q5.weights in count_weights
# The attention's output projection, C x C, is missing.
# - return 12 * n_layer * n_embd**2 + vocab_size * n_embd
# + return 11 * n_layer * n_embd**2 + vocab_size * n_embd


# %% weights_output_per_layer fails a3.q5.weights in count_weights
# You count the output matrix once per layer; there is one.
# - return 12 * n_layer * n_embd**2 + vocab_size * n_embd
# + return n_layer * (12 * n_embd**2 + vocab_size * n_embd)


# %% weights_with_biases fails a3.q5.weights in count_weights
# You count the biases; only the matrices are asked for.
# - return 12 * n_layer * n_embd**2 + vocab_size * n_embd
# + return n_layer * (12 * n_embd**2 + 9 * n_embd) + vocab_size * n_embd


# %% weights_with_embeddings fails a3.q5.weights in count_weights
# You count the embedding table besides the output matrix; looking up a row is no multiplication.
# - return 12 * n_layer * n_embd**2 + vocab_size * n_embd
# + return 12 * n_layer * n_embd**2 + 2 * vocab_size * n_embd


# %% weights_without_output fails a3.q5.weights in count_weights
# The output matrix, C x V, is missing: it is read in every forward.
# - return 12 * n_layer * n_embd**2 + vocab_size * n_embd
# + return 12 * n_layer * n_embd**2
