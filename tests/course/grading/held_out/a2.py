"""Wrong submissions to A2 that no check was written from: what is caught and named of them is counted."""


# %% accept_at_most fails a2.q1.never is accept_equal
# <=.
def accept(p, q, token, u):
    return bool(u * q[token] <= p[token])


# %% accept_draft_probability fails a2.q1.accept is nothing
# u < q.
def accept(p, q, token, u):
    return bool(u < q[token])


# %% accept_if_likelier fails a2.q1.accept is accept_without_coin
# A comparison without the coin.
def accept(p, q, token, u):
    return not p[token] < q[token]


# %% accept_ratio_of_q_to_p fails a2.q1.accept is accept_inverted
# min(1, q/p).
def accept(p, q, token, u):
    ratio = np.inf if p[token] == 0 else q[token] / p[token]
    return u < min(1.0, ratio)


# %% f_accept_argmax fails a2.q1.accept is accept_argmax
# Accepted where the token is the target's likeliest.
def accept(p, q, token, u):
    return int(np.argmax(p)) == token


# %% f_accept_le fails a2.q1.never is accept_equal
# U <= ratio.
def accept(p, q, token, u):
    return bool(u <= p[token] / q[token])


# %% f_accept_lenient fails a2.q1.accept is nothing
# A tenth more is accepted.
def accept(p, q, token, u):
    return bool(u < 1.1 * p[token] / q[token])


# %% f_accept_min_q fails a2.q1.accept is accept_inverted
# Min(1, q/p).
def accept(p, q, token, u):
    return bool(u < min(1.0, q[token] / max(p[token], 1e-12)))


# %% f_accept_rejects fails a2.q1.accept is accept_if_above
# Returns whether it is rejected.
def accept(p, q, token, u):
    return bool(u >= p[token] / q[token])


# %% f_loop_eos_checked_last fails a2.q6.ends is eos_at_the_end_of_a_step_only
# Eos only as the step's last token.
def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    text = list(prompt)
    end = len(prompt) + max_tokens
    while len(text) < end:
        d, q = propose(draft, text, min(gamma, end - len(text) - 1), noise)
        p = target.score(text[target.length() :] + d)[-len(d) - 1 :]
        n, t = verify(d, q, p, noise)
        text += d[:n] + [t]
        if t == eos:
            break
        target.rollback(len(text) - 1)
        draft.rollback(len(text) - 1)
    return text[len(prompt) :]


# %% f_loop_eos_truthy fails a2.q6.ends is eos_zero_is_false
# `if eos and ...`.
def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    text = list(prompt)
    end = len(prompt) + max_tokens
    while len(text) < end:
        d, q = propose(draft, text, min(gamma, end - len(text) - 1), noise)
        p = target.score(text[target.length() :] + d)[-len(d) - 1 :]
        n, t = verify(d, q, p, noise)
        step = d[:n] + [t]
        if eos and eos in step:
            return text[len(prompt) :] + step[: step.index(eos) + 1]
        text += step
        target.rollback(len(text) - 1)
        draft.rollback(len(text) - 1)
    return text[len(prompt) :]


# %% f_loop_from_scratch fails a2.q6.cost is cost_starts_over
# Both caches are emptied at each step.
def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    text = list(prompt)
    end = len(prompt) + max_tokens
    while len(text) < end:
        target.rollback(0)
        draft.rollback(0)
        d, q = propose(draft, text, min(gamma, end - len(text) - 1), noise)
        p = target.score(text + d)[-len(d) - 1 :]
        n, t = verify(d, q, p, noise)
        for x in d[:n] + [t]:
            text.append(x)
            if x == eos:
                return text[len(prompt) :]
    return text[len(prompt) :]


# %% f_loop_gamma_at_least_one fails a2.q6.cost is cost_room_for_one_drafts_one
# Drafts at least one.
def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    text = list(prompt)
    end = len(prompt) + max_tokens
    while len(text) < end:
        d, q = propose(draft, text, max(1, min(gamma, end - len(text) - 1)), noise)
        p = target.score(text[target.length() :] + d)[-len(d) - 1 :]
        n, t = verify(d, q, p, noise)
        for x in (d[:n] + [t])[: end - len(text)]:
            text.append(x)
            if x == eos:
                return text[len(prompt) :]
        target.rollback(len(text) - 1)
        draft.rollback(len(text) - 1)
    return text[len(prompt) :]


# %% f_loop_keeps_one_more fails a2.q6.law is loop_target_keeps_one_too_many
# Both caches keep all of the text.
def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    text = list(prompt)
    end = len(prompt) + max_tokens
    while len(text) < end:
        d, q = propose(draft, text, min(gamma, end - len(text) - 1), noise)
        new = text[target.length() :]
        p = target.score(new + d)[-len(d) - 1 :]
        n, t = verify(d, q, p, noise)
        for x in d[:n] + [t]:
            text.append(x)
            if x == eos:
                return text[len(prompt) :]
        target.rollback(len(text))
        draft.rollback(len(text))
    return text[len(prompt) :]


# %% f_loop_no_rollback_target fails a2.q6.law is loop_target_not_rolled_back
# The target's cache keeps rejected drafts.
def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    text = list(prompt)
    end = len(prompt) + max_tokens
    while len(text) < end:
        d, q = propose(draft, text, min(gamma, end - len(text) - 1), noise)
        new = text[target.length() :] or text[-1:]
        p = target.score(new + d)[-len(d) - 1 :]
        n, t = verify(d, q, p, noise)
        for x in d[:n] + [t]:
            text.append(x)
            if x == eos:
                return text[len(prompt) :]
        draft.rollback(len(text) - 1)
    return text[len(prompt) :]


# %% f_loop_overshoot fails a2.q6.cost is cost_drafts_beyond_the_end
# Always gamma drafts, cut at the end.
def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    text = list(prompt)
    end = len(prompt) + max_tokens
    while len(text) < end:
        d, q = propose(draft, text, gamma, noise)
        p = target.score(text[target.length() :] + d)[-len(d) - 1 :]
        n, t = verify(d, q, p, noise)
        for x in d[:n] + [t]:
            text.append(x)
            if x == eos or len(text) == end:
                return text[len(prompt) :]
        target.rollback(len(text) - 1)
        draft.rollback(len(text) - 1)
    return text[len(prompt) :]


# %% f_loop_rows_first fails a2.q6.law is loop_rows_from_the_start
# Takes the first rows, not the last.
def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    text = list(prompt)
    end = len(prompt) + max_tokens
    while len(text) < end:
        d, q = propose(draft, text, min(gamma, end - len(text) - 1), noise)
        p = target.score(text[target.length() :] + d)[: len(d) + 1]
        n, t = verify(d, q, p, noise)
        for x in d[:n] + [t]:
            text.append(x)
            if x == eos:
                return text[len(prompt) :]
        target.rollback(len(text) - 1)
        draft.rollback(len(text) - 1)
    return text[len(prompt) :]


# %% f_propose_feeds_last_draft fails a2.q5.cost is propose_one_forward_too_many
# Feeds the last draft as well.
def propose(draft, tokens, gamma, noise):
    out, rows = [], []
    if not gamma:
        return [], np.zeros((0, 0))
    row = draft.score(list(tokens)[draft.length() :])[-1]
    for _ in range(gamma):
        rows.append(row)
        out.append(noise.categorical(row))
        row = draft.score([out[-1]])[-1]
    return out, np.array(rows)


# %% f_propose_greedy fails a2.q5.law is propose_argmax
# Argmax drafts.
def propose(draft, tokens, gamma, noise):
    out, rows = [], []
    for _ in range(gamma):
        row = draft.score((list(tokens) + out)[draft.length() :])[-1]
        rows.append(row)
        out.append(int(np.argmax(row)))
    return out, np.array(rows)


# %% f_propose_rows_shifted fails a2.q5.law is nothing
# The rows lack the first and have one too late.
def propose(draft, tokens, gamma, noise):
    out, rows = [], []
    for _ in range(gamma):
        row = draft.score((list(tokens) + out)[draft.length() :])[-1]
        out.append(noise.categorical(row))
        rows.append(row)
    return out, np.array(rows[1:] + rows[:1])


# %% f_propose_sharp fails a2.q5.law is propose_sharpened
# Q squared is drawn from, q is returned.
def propose(draft, tokens, gamma, noise):
    out, rows = [], []
    for _ in range(gamma):
        row = draft.score((list(tokens) + out)[draft.length() :])[-1]
        rows.append(row)
        out.append(noise.categorical(row**2 / (row**2).sum()))
    return out, np.array(rows)


# %% f_residual_divided_by_one_minus_p fails a2.q2.residual is nothing
# Divided by the sum of p.
def residual(p, q):
    d = np.maximum(p - q, 0)
    return d / p[d > 0].sum() if d.any() else p


# %% f_residual_nan fails a2.q2.equal is residual_equal_is_nan
# Divides by zero where p = q.
def residual(p, q):
    d = np.maximum(p - q, 0)
    return d / d.sum()


# %% f_residual_no_norm fails a2.q2.residual is residual_not_normalised
# Not normalised.
def residual(p, q):
    return np.clip(p - q, 0, None)


# %% f_residual_q_minus_p fails a2.q2.residual is residual_swapped
# Q - p.
def residual(p, q):
    d = np.clip(q - p, 0, None)
    return d / d.sum() if d.sum() > 0 else p


# %% f_sample_argmax fails a2.q3.law is sample_argmax
# The likeliest.
def sample(probs, uniforms):
    return int(np.argmax(probs))


# %% f_sample_numpy fails a2.q3.law is nothing
# Ignores the uniforms.
def sample(probs, uniforms):
    return int(np.random.default_rng(0).choice(len(probs), p=probs))


# %% f_sample_race_product fails a2.q3.law is nothing
# The largest p * u.
def sample(probs, uniforms):
    return int(np.argmax(probs * uniforms))


# %% f_sample_searchsorted_left fails a2.q3.impossible is sample_first_at_zero
# Searchsorted without side, u = 0 hits token 0.
def sample(probs, uniforms):
    return int(min(np.searchsorted(np.cumsum(probs), uniforms[0]), len(probs) - 1))


# %% f_verify_bonus_after_rejection fails a2.q4.one is nothing
# After a rejection the bonus row is drawn from.
def verify(draft_tokens, draft_probs, target_probs, noise):
    n = 0
    for i, t in enumerate(draft_tokens):
        if not noise.bernoulli(min(1.0, target_probs[i][t] / draft_probs[i][t])):
            break
        n += 1
    if n < len(draft_tokens):
        return n, noise.categorical(residual(target_probs[-1], draft_probs[n]))
    return n, noise.categorical(target_probs[-1])


# %% f_verify_continues fails a2.q4.prefix is verify_goes_on
# Judges on after a rejection and counts all accepted.
def verify(draft_tokens, draft_probs, target_probs, noise):
    n, fix = 0, None
    for i, t in enumerate(draft_tokens):
        if noise.bernoulli(min(1.0, target_probs[i][t] / draft_probs[i][t])):
            n += 1
        elif fix is None:
            fix = i
    if fix is None:
        return n, noise.categorical(target_probs[len(draft_tokens)])
    return n, noise.categorical(residual(target_probs[fix], draft_probs[fix]))


# %% f_verify_empty fails a2.q4.empty is empty_draft_crashes
# Crashes for an empty draft.
def verify(draft_tokens, draft_probs, target_probs, noise):
    r = [target_probs[i][t] / draft_probs[i][t] for i, t in enumerate(draft_tokens)]
    assert max(r) >= 0
    for i, a in enumerate(r):
        if not noise.bernoulli(min(1.0, a)):
            return i, noise.categorical(residual(target_probs[i], draft_probs[i]))
    return len(r), noise.categorical(target_probs[-1])


# %% f_verify_from_p fails a2.q4.one is verify_replaces_from_p
# A rejected token is replaced from p.
def verify(draft_tokens, draft_probs, target_probs, noise):
    n = 0
    while n < len(draft_tokens):
        t = draft_tokens[n]
        if not noise.bernoulli(min(1.0, target_probs[n][t] / draft_probs[n][t])):
            break
        n += 1
    return n, noise.categorical(target_probs[n])


# %% f_verify_match fails a2.q4.one is verify_by_p
# Accepts where a token drawn from p equals the draft.
def verify(draft_tokens, draft_probs, target_probs, noise):
    for i, t in enumerate(draft_tokens):
        s = noise.categorical(target_probs[i])
        if s != t:
            return i, noise.categorical(residual(target_probs[i], draft_probs[i]))
    return len(draft_tokens), noise.categorical(target_probs[-1])


# %% f_verify_no_bonus fails a2.q4.bonus is bonus_missing
# No token after full acceptance: the last draft again.
def verify(draft_tokens, draft_probs, target_probs, noise):
    for i, t in enumerate(draft_tokens):
        if not noise.bernoulli(min(1.0, target_probs[i][t] / draft_probs[i][t])):
            return i, noise.categorical(residual(target_probs[i], draft_probs[i]))
    return len(draft_tokens), None


# %% h01_residual_relu_off_by_sign is residual_swapped
# Subtracts the wrong way round.
def residual(p, q):
    gap = q - p
    gap[gap < 0] = 0
    return gap / np.sum(gap) if np.any(gap) else p


# %% h02_resample_from_target is verify_replaces_from_p
# Takes the target's row as it is after a rejection, in a vectorised verify.
def verify(draft_tokens, draft_probs, target_probs, noise):
    count = len(draft_tokens)
    index = np.arange(count)
    ratios = np.minimum(1, target_probs[index, draft_tokens] / draft_probs[index, draft_tokens]) if count else []
    for i, r in enumerate(ratios):
        if not noise.bernoulli(float(r)):
            return i, noise.categorical(target_probs[i])
    return count, noise.categorical(target_probs[-1])


# %% h03_bonus_previous_row is bonus_row_too_early
# Indexes the target's rows by the number of drafts less one at the end.
def verify(draft_tokens, draft_probs, target_probs, noise):
    n = 0
    while n < len(draft_tokens):
        t = draft_tokens[n]
        if noise.bernoulli(min(1.0, target_probs[n, t] / draft_probs[n, t])):
            n += 1
            continue
        return n, noise.categorical(residual(target_probs[n], draft_probs[n]))
    return n, noise.categorical(target_probs[max(n - 1, 0)])


# %% h04_threshold is accept_without_coin
# Accepts what the target finds at least as likely as the draft.
def accept(p, q, token, u):
    return bool(p[token] >= q[token])


# %% h05_upside_down is accept_inverted
# Divides draft by target.
def accept(p, q, token, u):
    with np.errstate(divide="ignore"):
        ratio = np.divide(q[token], p[token])
    return bool(u < min(ratio, 1))


# %% h06_probability_alone is accept_by_p
# Accepts with the target's probability.
def accept(p, q, token, u):
    chance = float(p[token])
    return chance > u


# %% h07_residual_unscaled is residual_not_normalised
# Forgets to divide by the sum.
def residual(p, q):
    out = p.copy()
    out -= q
    out = np.clip(out, 0, None)
    return out if out.sum() > 0 else p


# %% h08_residual_exponential is residual_softmax
# Makes a distribution of the residual by softmax.
def residual(p, q):
    r = np.clip(p - q, 0, 1)
    if r.max() == 0:
        return p
    e = np.exp(r - r.max())
    return e / e.sum()


# %% h09_residual_distance is residual_absolute
# Uses the distance of the two.
def residual(p, q):
    d = np.where(p > q, p - q, q - p)
    total = float(np.sum(d))
    return p if total == 0 else d / total


# %% h10_keeps_judging is verify_goes_on
# Judges all drafts and counts those that were accepted.
def verify(draft_tokens, draft_probs, target_probs, noise):
    ok = []
    for x, q, p in zip(draft_tokens, draft_probs, target_probs):
        ok.append(noise.bernoulli(min(1.0, p[x] / q[x])))
    n = sum(ok)
    if n == len(draft_tokens):
        return n, noise.categorical(target_probs[-1])
    first = ok.index(False)
    return n, noise.categorical(residual(target_probs[first], draft_probs[first]))


# %% h11_shifted_rows is verify_next_rows
# Judges each draft by the target's next row.
def verify(draft_tokens, draft_probs, target_probs, noise):
    for i in range(len(draft_tokens)):
        p, q, x = target_probs[i + 1], draft_probs[i], draft_tokens[i]
        if not noise.bernoulli(min(1.0, p[x] / q[x])):
            return i, noise.categorical(residual(p, q))
    return len(draft_tokens), noise.categorical(target_probs[len(draft_tokens)])


# %% h12_best_bonus is bonus_argmax
# Takes the likeliest token after full acceptance.
def verify(draft_tokens, draft_probs, target_probs, noise):
    accepted = 0
    for x in draft_tokens:
        if not noise.bernoulli(min(1.0, target_probs[accepted][x] / draft_probs[accepted][x])):
            break
        accepted += 1
    if accepted < len(draft_tokens):
        return accepted, noise.categorical(residual(target_probs[accepted], draft_probs[accepted]))
    return accepted, int(target_probs[accepted].argmax()) if draft_tokens else noise.categorical(target_probs[0])


# %% h13_greedy_draft is propose_argmax
# Drafts the likeliest token and reports the whole row.
def propose(draft, tokens, gamma, noise):
    out = []
    rows = []
    while len(out) < gamma:
        row = draft.score((tokens + out)[draft.length() :])[-1]
        out.append(int(row.argmax()))
        rows.append(row)
    return out, np.asarray(rows)


# %% h14_target_not_taken_back is loop_target_not_rolled_back
# Never goes back in the target's cache.
def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    text = list(prompt)
    room = max_tokens
    while room > 0:
        drafted, q = propose(draft, text, min(gamma, room - 1), noise)
        new = text[target.length() :] or text[-1:]
        p = target.score(new + drafted)[-len(drafted) - 1 :]
        n, token = verify(drafted, q, p, noise)
        for t in drafted[:n] + [token]:
            text.append(t)
            room -= 1
            if t == eos:
                return text[len(prompt) :]
        draft.rollback(len(text) - 1)
    return text[len(prompt) :]


# %% h15_eos_last_only is eos_at_the_end_of_a_step_only
# Looks for the end only at the end of a step.
def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    made = []
    while len(made) < max_tokens:
        text = prompt + made
        drafted, q = propose(draft, text, min(gamma, max_tokens - len(made) - 1), noise)
        pending = text[target.length() :]
        p = target.score(pending + drafted)[len(pending) - 1 :]
        n, token = verify(drafted, q, p, noise)
        made += drafted[:n] + [token]
        if made[-1] == eos:
            break
        target.rollback(len(prompt) + len(made) - 1)
        draft.rollback(len(prompt) + len(made) - 1)
    return made


# %% h16_eos_then_more is eos_keeps_the_rest_of_the_step
# Sees the end but returns the rest of its step too.
def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    made = []
    while len(made) < max_tokens and eos not in made:
        text = prompt + made
        drafted, q = propose(draft, text, min(gamma, max_tokens - len(made) - 1), noise)
        pending = text[target.length() :]
        p = target.score(pending + drafted)[len(pending) - 1 :]
        n, token = verify(drafted, q, p, noise)
        made.extend([*drafted[:n], token])
        for model in (target, draft):
            model.rollback(len(prompt) + len(made) - 1)
    return made


# %% h17_too_long is loop_overshoots
# Drafts gamma tokens whatever room is left.
def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    text = list(prompt)
    while len(text) - len(prompt) < max_tokens:
        drafted, q = propose(draft, text, gamma, noise)
        pending = text[target.length() :]
        p = target.score(pending + drafted)[len(pending) - 1 :]
        n, token = verify(drafted, q, p, noise)
        for t in [*drafted[:n], token]:
            text.append(t)
            if eos is not None and t == eos:
                return text[len(prompt) :]
        target.rollback(len(text) - 1)
        draft.rollback(len(text) - 1)
    return text[len(prompt) :]


# %% h18_prefill_each_step is cost_starts_over
# Empties the target's cache before every step: the right text, at the wrong price.
def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    text = list(prompt)
    while len(text) < len(prompt) + max_tokens:
        drafted, q = propose(draft, text, min(gamma, len(prompt) + max_tokens - len(text) - 1), noise)
        target.rollback(0)
        p = target.score(text + drafted)[len(text) - 1 :]
        n, token = verify(drafted, q, p, noise)
        for t in [*drafted[:n], token]:
            text.append(t)
            if t == eos:
                return text[len(prompt) :]
        draft.rollback(len(text) - 1)
    return text[len(prompt) :]


# %% h19_no_speculation is cost_no_drafts
# Decodes token by token.
def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    text = list(prompt)
    for _ in range(max_tokens):
        row = target.score(text[target.length() :])[-1]
        text.append(noise.categorical(row))
        if text[-1] == eos:
            break
    return text[len(prompt) :]


# %% h20_one_uniform is verify_one_coin
# Asks for one coin and uses it for every draft of the step.
def verify(draft_tokens, draft_probs, target_probs, noise):
    verdict = None
    for i, x in enumerate(draft_tokens):
        if verdict is None:
            verdict = noise.bernoulli(min(1.0, target_probs[i][x] / draft_probs[i][x]))
        if not verdict:
            return i, noise.categorical(residual(target_probs[i], draft_probs[i]))
    return len(draft_tokens), noise.categorical(target_probs[-1])


# %% h21_rejected_returned is verify_counts_the_rejected
# Counts the rejected token as accepted.
def verify(draft_tokens, draft_probs, target_probs, noise):
    for i, x in enumerate(draft_tokens):
        good = noise.bernoulli(min(1.0, target_probs[i][x] / draft_probs[i][x]))
        if not good:
            token = noise.categorical(residual(target_probs[i], draft_probs[i]))
            return i + 1, token
    return len(draft_tokens), noise.categorical(target_probs[-1])


# %% h22_uniform_residual is residual_equal_is_uniform
# Spreads evenly where nothing is left.
def residual(p, q):
    r = np.maximum(0, p - q)
    if not r.any():
        r = np.ones(len(p))
    return r / r.sum()


# %% h23_best_token is sample_argmax
# Draws the likeliest token.
def sample(probs, uniforms):
    order = sorted(range(len(probs)), key=lambda x: probs[x])
    return order[-1]


# %% h24_gumbel_without_log is sample_gumbel_on_probs
# Adds Gumbel noise to probabilities instead of their logarithms.
def sample(probs, uniforms):
    gumbel = -np.log(-np.log(np.clip(uniforms, 1e-300, 1 - 1e-16)))
    scores = np.where(probs > 0, probs + gumbel, -np.inf)
    return int(scores.argmax())


# %% h25_temperature_in_draft is propose_sharpened
# Draws from a colder row than it reports: q is not what the token was drawn from.
def propose(draft, tokens, gamma, noise):
    out, rows = [], []
    for _ in range(gamma):
        row = draft.score((tokens + out)[draft.length() :])[-1]
        cold = np.exp(np.log(row) / 0.5)
        out.append(noise.categorical(cold / cold.sum()))
        rows.append(row)
    return out, np.array(rows)


# %% h26_prompt_returned is loop_with_the_prompt
# Returns the prompt too.
def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    text = prompt[:]
    stop = False
    while not stop and len(text) < len(prompt) + max_tokens:
        k = min(gamma, len(prompt) + max_tokens - len(text) - 1)
        drafted, q = propose(draft, text, k, noise)
        held = target.length()
        p = target.score(text[held:] + drafted)[len(text) - held - 1 :]
        n, token = verify(drafted, q, p, noise)
        for t in drafted[:n] + [token]:
            text.append(t)
            stop = t == eos
            if stop:
                break
        target.rollback(len(text) - 1)
        draft.rollback(len(text) - 1)
    return text


# %% h27_lenient is nothing
# Accepts twice as readily as it may; no entry of the catalogue describes it.
def verify(draft_tokens, draft_probs, target_probs, noise):
    for i, x in enumerate(draft_tokens):
        if not noise.bernoulli(min(1.0, 2 * target_probs[i][x] / draft_probs[i][x])):
            return i, noise.categorical(residual(target_probs[i], draft_probs[i]))
    return len(draft_tokens), noise.categorical(target_probs[-1])


# %% h28_residual_smoothed is residual_leaks
# Adds a small number everywhere, so that tokens the target never says can appear.
def residual(p, q):
    r = np.maximum(p - q, 0) + 1e-3
    return r / r.sum()


# %% h29_draft_cache_short is cost_draft_lacks_the_last_accepted
# Takes the draft's cache back one token too far each step: right, and one row dearer.
def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    text = list(prompt)
    while len(text) < len(prompt) + max_tokens:
        drafted, q = propose(draft, text, min(gamma, len(prompt) + max_tokens - len(text) - 1), noise)
        pending = text[target.length() :]
        p = target.score(pending + drafted)[len(pending) - 1 :]
        n, token = verify(drafted, q, p, noise)
        for t in [*drafted[:n], token]:
            text.append(t)
            if t == eos:
                return text[len(prompt) :]
        target.rollback(len(text) - 1)
        draft.rollback(max(0, len(text) - 2))
    return text[len(prompt) :]


# %% h30_always is accept_always
# Accepts all.
def accept(p, q, token, u):
    return not u > 1


# %% loop_cuts_late fails a2.q6.cost is cost_drafts_beyond_the_end
# Drafts gamma always and cuts the result.
def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    made = []
    while len(made) < max_tokens:
        text = [*prompt, *made]
        drafted, rows = propose(draft, text, gamma, noise)
        behind = text[target.length() :]
        count, token = verify(drafted, rows, target.score(behind + drafted)[len(behind) - 1 :], noise)
        for t in [*drafted[:count], token]:
            made.append(t)
            if t == eos:
                return made[:max_tokens]
        for session in (target, draft):
            session.rollback(len(prompt) + len(made) - 1)
    return made[:max_tokens]


# %% loop_draft_keeps_all fails a2.q6.cost is cost_draft_not_rolled_back
# The draft's cache is never taken back, and propose believes what it holds.
def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    tokens, stop = list(prompt), len(prompt) + max_tokens
    while len(tokens) < stop:
        drafted, rows = [], []
        for _ in range(min(gamma, stop - len(tokens) - 1)):
            text = tokens + drafted
            rows.append(draft.score(text[draft.length() :] or text[-1:])[-1])
            drafted.append(noise.categorical(rows[-1]))
        behind = tokens[target.length() :]
        scores = target.score(behind + drafted)[len(behind) - 1 :]
        count, token = verify(drafted, np.array(rows), scores, noise)
        for t in [*drafted[:count], token]:
            tokens.append(t)
            if t == eos:
                return tokens[len(prompt) :]
        target.rollback(len(tokens) - 1)
    return tokens[len(prompt) :]


# %% loop_eos_only_last fails a2.q6.ends is eos_at_the_end_of_a_step_only
# Looks at the last token of a step.
def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    tokens, stop = list(prompt), len(prompt) + max_tokens
    while len(tokens) < stop:
        drafted, rows = propose(draft, tokens, min(gamma, stop - len(tokens) - 1), noise)
        behind = tokens[target.length() :]
        count, token = verify(drafted, rows, target.score(behind + drafted)[len(behind) - 1 :], noise)
        tokens = tokens + drafted[:count] + [token]
        if token == eos:
            break
        target.rollback(len(tokens) - 1)
        draft.rollback(len(tokens) - 1)
    return tokens[len(prompt) :]


# %% loop_eos_removed fails a2.q6.ends is eos_left_out
# The end token is taken off.
loop = speculative


def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    made = loop(target, draft, prompt, max_tokens, gamma, noise, eos)
    if made and made[-1] == eos:
        made.pop()
    return made


# %% loop_never_back fails a2.q6.law is loop_target_not_rolled_back
# The target's cache is not taken back.
def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    tokens, unseen = list(prompt), list(prompt)
    while (room := len(prompt) + max_tokens - len(tokens)) > 0:
        drafted, rows = propose(draft, tokens, min(gamma, room - 1), noise)
        scores = target.score(unseen + drafted)[len(unseen) - 1 :]
        count, token = verify(drafted, rows, scores, noise)
        fresh = drafted[:count] + [token]
        if eos in fresh:
            return (tokens + fresh[: fresh.index(eos) + 1])[len(prompt) :]
        tokens += fresh
        unseen = [token]
        draft.rollback(len(tokens) - 1)
    return tokens[len(prompt) :]


# %% loop_prompt_counts fails a2.q6.ends is loop_counts_the_prompt
# len(tokens) < max_tokens.
def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    tokens = list(prompt)
    while len(tokens) < max_tokens:
        drafted, rows = propose(draft, tokens, min(gamma, max_tokens - len(tokens) - 1), noise)
        behind = tokens[target.length() :]
        count, token = verify(drafted, rows, target.score(behind + drafted)[len(behind) - 1 :], noise)
        for t in [*drafted[:count], token]:
            tokens.append(t)
            if t == eos:
                return tokens[len(prompt) :]
        target.rollback(len(tokens) - 1)
        draft.rollback(len(tokens) - 1)
    return tokens[len(prompt) :]


# %% loop_scores_separately fails a2.q6.cost is cost_pending_token_alone
# The pending tokens are fed first, the draft in a second forward.
def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    tokens, stop = list(prompt), len(prompt) + max_tokens
    while len(tokens) < stop:
        drafted, rows = propose(draft, tokens, min(gamma, stop - len(tokens) - 1), noise)
        scores = target.score(tokens[target.length() :])[-1:]
        if drafted:
            scores = np.concatenate([scores, target.score(drafted)])
        count, token = verify(drafted, rows, scores, noise)
        for t in [*drafted[:count], token]:
            tokens.append(t)
            if t == eos:
                return tokens[len(prompt) :]
        target.rollback(len(tokens) - 1)
        draft.rollback(len(tokens) - 1)
    return tokens[len(prompt) :]


# %% loop_unbounded_drafts fails a2.q6.ends is loop_overshoots
# Never looks at the room.
def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    made = []
    while len(made) < max_tokens:
        text = [*prompt, *made]
        drafted, rows = propose(draft, text, gamma, noise)
        behind = text[target.length() :]
        count, token = verify(drafted, rows, target.score(behind + drafted)[len(behind) - 1 :], noise)
        for t in [*drafted[:count], token]:
            made.append(t)
            if t == eos:
                return made
        for session in (target, draft):
            session.rollback(len(prompt) + len(made) - 1)
    return made


# %% propose_from_scratch fails a2.q5.cost is propose_starts_over
# Empties the cache each time.
def propose(draft, tokens, gamma, noise):
    text, rows = list(tokens), []
    for _ in range(gamma):
        draft.rollback(0)
        rows.append(draft.score(text)[-1])
        text.append(noise.categorical(rows[-1]))
    return text[len(tokens) :], np.array(rows)


# %% propose_greedily fails a2.q5.law is propose_argmax
# The mode, with soft rows.
def propose(draft, tokens, gamma, noise):
    text, rows = list(tokens), []
    for _ in range(gamma):
        row = draft.score(text[draft.length() :])[-1]
        rows.append(row)
        text.append(int(row.argmax()))
    return text[len(tokens) :], np.array(rows)


# %% propose_one_more fails a2.q5.cost is propose_one_forward_too_many
# Feeds the last draft as well.
def propose(draft, tokens, gamma, noise):
    if not gamma:
        return [], []
    row, rows, made = draft.score(tokens[draft.length() :])[-1], [], []
    for _ in range(gamma):
        rows.append(row)
        made.append(noise.categorical(row))
        row = draft.score(made[-1:])[-1]
    return made, np.array(rows)


# %% propose_only_last fails a2.q5.law is propose_feeds_the_last_token_only
# Feeds text[-1:].
def propose(draft, tokens, gamma, noise):
    text, rows = list(tokens), []
    for _ in range(gamma):
        rows.append(draft.score(text[-1:])[-1])
        text.append(noise.categorical(rows[-1]))
    return text[len(tokens) :], np.array(rows)


# %% residual_forgot_to_normalise fails a2.q2.residual is residual_not_normalised
# clip without division.
def residual(p, q):
    gap = np.clip(p - q, 0.0, 1.0)
    return gap if gap.sum() > 0 else p


# %% residual_no_guard fails a2.q2.equal is residual_equal_is_nan
# No guard for equal laws.
def residual(p, q):
    gap = np.where(p > q, p - q, 0.0)
    with np.errstate(invalid="ignore"):
        return gap / np.sum(gap)


# %% residual_of_absolute_values fails a2.q2.residual is residual_absolute
# np.abs.
def residual(p, q):
    gap = abs(p - q)
    total = sum(gap)
    return p if total == 0 else np.array([g / total for g in gap])


# %% residual_plain_target fails a2.q2.residual is residual_is_p
# The target again.
def residual(p, q):
    return np.array(p) / np.sum(p)


# %% residual_with_epsilon_in_the_sum fails a2.q2.residual is nothing
# Divides by the sum plus 1e-3.
def residual(p, q):
    gap = np.maximum(p - q, 0)
    return p if not gap.any() else gap / (gap.sum() + 1e-3)


# %% sample_race_on_products fails a2.q3.law is sample_race_multiplied
# Multiplies where it should divide.
def sample(probs, uniforms):
    clocks = -np.log(1 - uniforms)
    clocks = np.where(probs > 0, clocks * probs, np.inf)
    return int(clocks.argmin())


# %% sample_searchsorted fails a2.q3.impossible is sample_first_at_zero
# np.searchsorted with its default side.
def sample(probs, uniforms):
    place = int(np.searchsorted(np.cumsum(probs), uniforms[0]))
    support = np.flatnonzero(probs)
    return min(place, int(support[-1]))


# %% sample_takes_the_mode fails a2.q3.law is sample_argmax
# The mode.
def sample(probs, uniforms):
    best = 0
    for token, prob in enumerate(probs):
        if prob > probs[best]:
            best = token
    return best


# %% verify_all_coins_counted fails a2.q4.prefix is verify_goes_on
# Counts accepted drafts anywhere.
def verify(draft_tokens, draft_probs, target_probs, noise):
    hits, first_miss = 0, None
    for i, token in enumerate(draft_tokens):
        if noise.bernoulli(min(1.0, target_probs[i][token] / draft_probs[i][token])):
            hits += 1
        elif first_miss is None:
            first_miss = i
    if first_miss is None:
        return hits, noise.categorical(target_probs[hits])
    return hits, noise.categorical(residual(target_probs[first_miss], draft_probs[first_miss]))


# %% verify_bonus_of_last_draft_row fails a2.q4.bonus is bonus_row_too_early
# target_probs[-2].
def verify(draft_tokens, draft_probs, target_probs, noise):
    for i, token in enumerate(draft_tokens):
        p, q = target_probs[i], draft_probs[i]
        if not noise.bernoulli(min(1.0, p[token] / q[token])):
            return i, noise.categorical(residual(p, q))
    row = target_probs[-2] if len(draft_tokens) else target_probs[0]
    return len(draft_tokens), noise.categorical(row)


# %% verify_coin_of_p fails a2.q4.one is verify_by_p
# Accepts with p.
def verify(draft_tokens, draft_probs, target_probs, noise):
    for place in range(len(draft_tokens)):
        chance = float(target_probs[place][draft_tokens[place]])
        if not noise.bernoulli(chance):
            return place, noise.categorical(residual(target_probs[place], draft_probs[place]))
    return len(draft_tokens), noise.categorical(target_probs[-1])


# %% verify_mode_as_bonus fails a2.q4.bonus is bonus_argmax
# argmax of the last row.
def verify(draft_tokens, draft_probs, target_probs, noise):
    n = len(draft_tokens)
    for i in range(n):
        p, q = target_probs[i], draft_probs[i]
        if not noise.bernoulli(min(1.0, p[draft_tokens[i]] / q[draft_tokens[i]])):
            return i, noise.categorical(residual(p, q))
    return n, int(target_probs[n].argmax()) if n else noise.categorical(target_probs[0])


# %% verify_resamples_target fails a2.q4.one is verify_replaces_from_p
# Draws from the target after a rejection.
def verify(draft_tokens, draft_probs, target_probs, noise):
    count = 0
    while count < len(draft_tokens):
        token = draft_tokens[count]
        if not noise.bernoulli(min(1.0, target_probs[count, token] / draft_probs[count, token])):
            break
        count += 1
    return count, noise.categorical(target_probs[count])


# %% verify_rows_shifted fails a2.q4.prefix is verify_next_rows
# Row i + 1 judges draft i.
def verify(draft_tokens, draft_probs, target_probs, noise):
    rows = target_probs[1:]
    for i, token in enumerate(draft_tokens):
        if not noise.bernoulli(min(1.0, rows[i][token] / draft_probs[i][token])):
            return i, noise.categorical(residual(rows[i], draft_probs[i]))
    return len(draft_tokens), noise.categorical(target_probs[-1])
