"""Wrong submissions to A3 in the words of students, in a structure of their own; see tests/course/grading/test_naming.py."""


# %% g_batch_relative_to_ridge fails a3.q6.batch is batch_not_relative
# Divides by the ridge only once it has been passed, and forgets that one row may be past it.
def roofline_verify_cost(batch, max_rows, ridge):
    costs = []
    for m in range(1, max_rows + 1):
        costs.append(batch * m / ridge if batch * m > ridge else 1.0)
    return np.array(costs)


# %% g_best_gamma_by_tau fails a3.q4.best is best_gamma_most_tokens
# Looks for the longest expected step.
def best_gamma(alpha, c, verify_cost):
    best = 0
    for g in range(len(verify_cost)):
        if tau(alpha, g) > tau(alpha, best):
            best = g
    return best


# %% g_break_even_solves_linear fails a3.q4.break_even is break_even_linear
# Solves 1 + alpha gamma = cost.
def break_even_alpha(gamma, c, verify_cost):
    alpha = (gamma * c + verify_cost[gamma] - 1) / gamma
    if alpha > 1:
        return None
    return max(0.0, alpha)


# %% g_costs_cache_written_too fails a3.q5.costs is costs_cache_written
# Adds the writing of the new rows' keys and values to the bytes.
def forward_costs(n_layer, n_embd, vocab_size, rows, context, bytes_per_number):
    n = count_weights(n_layer, n_embd, vocab_size)
    flops = rows * (2 * n + 4 * n_layer * n_embd * context)
    cache = 2 * n_layer * n_embd * (context + rows)
    return flops, bytes_per_number * (n + cache)


# %% g_estimate_judged_is_all fails a3.q3.estimate is estimate_always_one_rejection_of_drafts also estimate_always_one_rejection
# Counts one judged draft more for each step that has drafts, also when all were accepted.
def estimate(drafted, accepted):
    total, good, judged = 0, 0, 0
    for d, a in zip(drafted, accepted):
        total += d
        good += a
        if d:
            judged += a + 1
    return (good / total if total else None, good / judged if judged else None)


# %% g_law_accepted_counts_from_one fails a3.q2.law is law_shifted
# Has alpha once too often in each entry but the last.
def tokens_law(alpha, gamma):
    law = [(1 - alpha) * alpha ** (i + 1) for i in range(gamma)]
    return np.array(law + [1 - sum(law)])


# %% g_law_tail_not_collected fails a3.q2.law is law_without_the_cap
# Gives the last entry the factor 1 - alpha, too.
def tokens_law(alpha, gamma):
    k = np.arange(gamma + 1)
    return (1 - alpha) * np.power(float(alpha), k)


# %% g_overlap_accepted_mass fails a3.q1.overlap is overlap_where_p_is_larger
# Sums the draft's mass on the tokens that the target likes at least as well.
def acceptance_probability(p, q):
    return float(q[p >= q].sum())


# %% g_pooled_by_steps fails a3.q7.pooled is pooled_weighted_by_tokens
# Weighs the texts' tau by their tokens.
def pooled_tau(taus, tokens):
    return float(np.average(taus, weights=tokens))


# %% g_ridge_multiply_adds fails a3.q6.ridge is ridge_without_two
# Counts one operation per weight.
def ridge_rows(peak, bandwidth, bytes_per_number):
    seconds_per_weight = bytes_per_number / bandwidth
    return seconds_per_weight * peak


# %% g_speedup_cost_of_rows_times fails a3.q4.speedup is speedup_verify_times_rows also speedup_verify_each
# Charges the target's cost for each of the gamma + 1 rows.
def speedup(alpha, gamma, c, verify_cost):
    cost = gamma * c + (gamma + 1) * verify_cost[gamma]
    return tau(alpha, gamma) / cost


# %% g_steps_ceiling fails a3.q8.steps is steps_rounded_up
# Divides by tau and rounds up.
def expected_steps(num_tokens, alpha, gamma):
    return float(np.ceil(num_tokens / tau(alpha, gamma)))


# %% g_tau_gamma_times_alpha fails a3.q2.tau is tau_linear
# Says that each draft adds alpha.
def tau(alpha, gamma):
    tokens = 1.0
    for _ in range(gamma):
        tokens += alpha
    return tokens


# %% g_tau_geometric_infinite fails a3.q2.tau is tau_unlimited
# Takes the mean of a geometric law without its end.
def tau(alpha, gamma):
    if alpha == 1:
        return float(gamma + 1)
    return 1 / (1 - alpha)


# %% g_weights_biases_too fails a3.q5.weights is weights_with_biases
# Counts the biases as well.
def count_weights(n_layer, n_embd, vocab_size):
    attention = n_embd * 3 * n_embd + 3 * n_embd + n_embd * n_embd + n_embd
    mlp = n_embd * 4 * n_embd + 4 * n_embd + 4 * n_embd * n_embd + n_embd
    return n_layer * (attention + mlp) + n_embd * vocab_size


# %% k_batch_counts_tokens_per_second fails a3.q6.batch
# Divides the ridge by the batch, rounds it down to whole rows.
def roofline_verify_cost(batch, max_rows, ridge):
    free = max(1, int(ridge // batch))
    return np.array([max(1.0, m / free) for m in range(1, max_rows + 1)])


# %% k_best_gamma_stops_early fails a3.q4.best is best_gamma_first_peak also best_gamma_climbs
# Stops where the speedup first falls.
def best_gamma(alpha, c, verify_cost):
    g = 0
    while g + 1 < len(verify_cost) and speedup(alpha, g + 1, c, verify_cost) > speedup(alpha, g, c, verify_cost):
        g = g + 1
    return g


# %% k_break_even_returns_low_end fails a3.q4.break_even
# Compares with gamma instead of gamma + 1 at alpha = 1, so some that just pay are None.
def break_even_alpha(gamma, c, verify_cost):
    price = c * gamma + verify_cost[gamma]
    if price > gamma:
        return None
    a, b = 0.0, 1.0
    while b - a > 1e-9:
        m = (a + b) / 2
        if tau(m, gamma) < price:
            a = m
        else:
            b = m
    return b


# %% k_costs_context_squared fails a3.q5.costs
# Charges the attention for every pair of cached tokens.
def forward_costs(n_layer, n_embd, vocab_size, rows, context, bytes_per_number):
    w = count_weights(n_layer, n_embd, vocab_size)
    operations = 2 * w * rows + 4 * n_layer * n_embd * context * context
    return operations, (w + 2 * n_layer * n_embd * context) * bytes_per_number


# %% k_estimate_alpha_of_steps fails a3.q3.estimate is estimate_first_position_only
# Takes for alpha the share of steps whose first draft was accepted... of all steps, drafts or not.
def estimate(drafted, accepted):
    rate = sum(accepted) / sum(drafted) if sum(drafted) else None
    firsts = [a > 0 for a in accepted]
    return rate, (sum(firsts) / len(firsts) if firsts else None)


# %% k_law_reversed_order fails a3.q2.law is law_reversed
# Lists the probabilities from the most tokens to the fewest.
def tokens_law(alpha, gamma):
    law = [alpha**gamma]
    for accepted in range(gamma - 1, -1, -1):
        law.append(alpha**accepted * (1 - alpha))
    return np.array(law)


# %% k_law_starts_at_zero_tokens fails a3.q2.law
# Has an entry for no tokens in front.
def tokens_law(alpha, gamma):
    law = np.zeros(gamma + 2)
    for i in range(gamma):
        law[i + 1] = alpha**i * (1 - alpha)
    law[gamma + 1] = alpha**gamma
    return law


# %% k_overlap_one_minus_max_gap fails a3.q1.overlap
# Subtracts the largest gap between the two from 1.
def acceptance_probability(p, q):
    return 1.0 - float(np.max(np.abs(p - q)))


# %% k_position_geometric_mean fails a3.q7.position
# Takes the geometric mean of the acceptances for one alpha.
def tau_by_position(acceptances):
    if len(acceptances) == 0:
        return 1.0
    alpha = float(np.prod(acceptances)) ** (1 / len(acceptances))
    return tau(alpha, len(acceptances))


# %% k_speedup_draft_one_too_many fails a3.q4.speedup is speedup_draft_of_gamma_plus_one
# Pays a draft forward for the target's token.
def speedup(alpha, gamma, c, verify_cost):
    rows = gamma + 1
    return tau(alpha, gamma) / (rows * c + verify_cost[rows - 1])


# %% k_steps_uncut fails a3.q8.steps is steps_quotient
# Divides the tokens by tau.
def expected_steps(num_tokens, alpha, gamma):
    per_step = sum((i + 1) * w for i, w in enumerate(tokens_law(alpha, gamma)))
    return num_tokens / per_step


# %% k_tau_expected_of_product fails a3.q2.tau is tau_last_power_only
# Computes gamma alpha^gamma + 1.
def tau(alpha, gamma):
    return 1 + gamma * alpha**gamma


# %% k_tau_formula_exponent fails a3.q2.tau is tau_one_power_short
# Has gamma where gamma + 1 belongs in the closed form.
def tau(alpha, gamma):
    if alpha == 1:
        return gamma + 1.0
    return (1 - alpha**gamma) / (1 - alpha)


# %% k_time_of_both fails a3.q6.time is time_sum
# Adds the two times.
def roofline_time(operations, num_bytes, peak, bandwidth):
    compute = operations / peak
    memory = num_bytes / bandwidth
    return compute + memory


# %% k_weights_per_head fails a3.q5.weights
# Counts the output matrix in every layer... and the attention's once.
def count_weights(n_layer, n_embd, vocab_size):
    attention = 4 * n_embd * n_embd
    mlp = 8 * n_embd * n_embd
    return attention + n_layer * mlp + vocab_size * n_embd


# %% n_acceptance_half_distance fails a3.q1.overlap is overlap_distance
# Returns the distance of p and q, which is what is rejected.
def acceptance_probability(p, q):
    return float(0.5 * np.abs(np.asarray(p) - np.asarray(q)).sum())


# %% n_best_gamma_last_of_equals fails a3.q4.best is best_gamma_last_of_ties
# Keeps the last of equally good ones.
def best_gamma(alpha, c, verify_cost):
    best, most = 0, 0.0
    for g in range(len(verify_cost)):
        s = speedup(alpha, g, c, verify_cost)
        if s >= most:
            best, most = g, s
    return best


# %% n_break_even_without_drafts fails a3.q4.break_even
# Leaves the drafts' cost out.
def break_even_alpha(gamma, c, verify_cost):
    def gains(a):
        return tau(a, gamma) - verify_cost[gamma]

    if gains(1.0) < 0:
        return None
    a, b = 0.0, 1.0
    while b - a > 1e-9:
        m = (a + b) / 2
        if gains(m) >= 0:
            b = m
        else:
            a = m
    return b


# %% n_costs_attention_once fails a3.q5.costs is costs_attention_half
# Counts scores and forgets the weighted sum of values.
def forward_costs(n_layer, n_embd, vocab_size, rows, context, bytes_per_number):
    w = count_weights(n_layer, n_embd, vocab_size)
    attention = 2 * n_layer * n_embd * context
    return rows * (2 * w + attention), bytes_per_number * (w + 2 * n_layer * context * n_embd)


# %% n_costs_cache_keys_only fails a3.q5.costs is costs_keys_only
# Reads keys and no values.
def forward_costs(n_layer, n_embd, vocab_size, rows, context, bytes_per_number):
    w = count_weights(n_layer, n_embd, vocab_size)
    attention = 4 * n_layer * n_embd * context
    return rows * (2 * w + attention), bytes_per_number * (w + n_layer * context * n_embd)


# %% n_estimate_one_more_per_step fails a3.q3.estimate is estimate_always_one_rejection
# Counts one rejected draft in every step, also in those without one.
def estimate(drafted, accepted):
    A, D = sum(accepted), sum(drafted)
    judged = A + len(accepted)
    return (A / D if D else None), (A / judged if judged else None)


# %% n_law_last_like_the_others fails a3.q2.law is law_without_the_cap
# Multiplies the last entry by 1 - alpha too.
def tokens_law(alpha, gamma):
    return (1 - alpha) * alpha ** np.arange(gamma + 1.0)


# %% n_pooled_weighted_mean fails a3.q7.pooled is pooled_weighted_by_tokens
# Weighs the taus by tokens.
def pooled_tau(taus, tokens):
    return sum(t * n for t, n in zip(taus, tokens)) / sum(tokens)


# %% n_speedup_cost_one_row_less fails a3.q4.speedup is speedup_verify_gamma_rows
# Takes v(gamma) for v(gamma + 1).
def speedup(alpha, gamma, c, verify_cost):
    return tau(alpha, gamma) / (c * gamma + verify_cost[max(gamma - 1, 0)])


# %% n_steps_ratio fails a3.q8.steps is steps_rounded_up
# Divides the tokens by tau.
def expected_steps(num_tokens, alpha, gamma):
    return float(np.ceil(num_tokens / tau(alpha, gamma)))


# %% n_tau_counts_from_one fails a3.q2.tau is tau_without_bonus
# Sums the powers from 1 on: the one token more is missing.
def tau(alpha, gamma):
    total, power = 0.0, 1.0
    for _ in range(gamma):
        power *= alpha
        total += power
    return total


# %% n_verify_cost_not_relative fails a3.q6.batch is batch_not_relative
# Forgets to divide by the time of one row of each.
def roofline_verify_cost(batch, max_rows, ridge):
    return np.array([max(1.0, batch * m / ridge) for m in range(1, max_rows + 1)])
