"""Wrong submissions to A2 in the words of students, in a structure of their own; see tests/course/grading/test_naming.py."""


# %% g_accept_ratio_of_sums fails a2.q1.accept is accept_share
# Divides by the sum of both probabilities, as for a vote.
def accept(p, q, token, u):
    return bool(u < p[token] / (p[token] + q[token]))


# %% g_accept_wants_both fails a2.q1.accept is accept_without_coin
# Accepts where the target likes the token at least as well, and never else.
def accept(p, q, token, u):
    if q[token] > p[token]:
        return False
    return True


# %% g_loop_eos_before_the_step fails a2.q6.ends is eos_keeps_the_rest_of_the_step
# Looks for eos once the whole step is appended.
def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    text = list(prompt)
    while len(text) - len(prompt) < max_tokens and (eos is None or eos not in text[len(prompt) :]):
        room = max_tokens - (len(text) - len(prompt))
        xs, qs = propose(draft, text, min(gamma, room - 1), noise)
        todo = text[target.length() :] + xs
        ps = target.score(todo)
        ps = ps[len(ps) - len(xs) - 1 :]
        n, extra = verify(xs, qs, ps, noise)
        text = text + xs[:n] + [extra]
        for model in (target, draft):
            model.rollback(len(text) - 1)
    return text[len(prompt) :]


# %% g_loop_one_more_target_call fails a2.q6.cost is cost_last_draft_alone
# Calls the target once more to get the row of the bonus.
def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    text, goal = list(prompt), len(prompt) + max_tokens
    while len(text) < goal:
        xs, qs = propose(draft, text, min(gamma, goal - len(text) - 1), noise)
        missing = text[target.length() :]
        if xs:
            ps = target.score(missing + xs[:-1])[len(missing) - 1 :]
            ps = np.concatenate([ps, target.score(xs[-1:])])
        else:
            ps = target.score(missing)[-1:]
        n, extra = verify(xs, qs, ps, noise)
        for t in xs[:n] + [extra]:
            text.append(t)
            if t == eos:
                return text[len(prompt) :]
        target.rollback(len(text) - 1)
        draft.rollback(len(text) - 1)
    return text[len(prompt) :]


# %% g_loop_rejected_step_again fails a2.q6.law is loop_drafts_again
# Throws a step away and drafts again where the first draft was rejected.
def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    text, goal, tries = list(prompt), len(prompt) + max_tokens, 0
    while len(text) < goal:
        xs, qs = propose(draft, text, min(gamma, goal - len(text) - 1), noise)
        missing = text[target.length() :]
        ps = target.score(missing + xs)[len(missing) - 1 :]
        n, extra = verify(xs, qs, ps, noise)
        if n == 0 and xs and tries == 0:
            tries = 1
            target.rollback(len(text) - 1)
            draft.rollback(len(text) - 1)
            continue
        tries = 0
        for t in xs[:n] + [extra]:
            text.append(t)
            if t == eos:
                return text[len(prompt) :]
        target.rollback(len(text) - 1)
        draft.rollback(len(text) - 1)
    return text[len(prompt) :]


# %% g_loop_rollback_by_rejected fails a2.q6.law
# Rolls the target back by the rejected drafts, but forgets that the newest token is not fed: the draft goes back by too few.
def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    out = []
    while len(out) < max_tokens:
        text = list(prompt) + out
        g = min(gamma, max_tokens - len(out) - 1)
        guess, q = propose(draft, text, g, noise)
        new = text[target.length() :]
        p = target.score(new + guess)[-(g + 1) :]
        n, token = verify(guess, q, p, noise)
        target.rollback(target.length() - (g - n))
        draft.rollback(draft.length() - max(0, g - n - 2))
        for t in guess[:n] + [token]:
            out.append(t)
            if t == eos:
                return out
    return out


# %% g_loop_target_only_at_rejection fails a2.q6.law
# Rolls the draft back, and the target only after it rejected everything.
def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    text, goal = list(prompt), len(prompt) + max_tokens
    while len(text) < goal:
        xs, qs = propose(draft, text, min(gamma, goal - len(text) - 1), noise)
        missing = text[target.length() :]
        ps = target.score(missing + xs)[len(missing) - 1 :]
        n, extra = verify(xs, qs, ps, noise)
        for t in xs[:n] + [extra]:
            text.append(t)
            if t == eos:
                return text[len(prompt) :]
        if n == 0:
            target.rollback(len(text) - 1)
        draft.rollback(len(text) - 1)
    return text[len(prompt) :]


# %% g_propose_rows_after_the_token fails a2.q5.law is propose_rows_of_the_next also propose_one_forward_too_many
# Returns, for each token, the row that came after it, not the one it was drawn from.
def propose(draft, tokens, gamma, noise):
    if gamma == 0:
        return [], []
    row = draft.score(tokens[draft.length() :])[-1]
    out, rows = [], []
    for _ in range(gamma):
        token = noise.categorical(row)
        out.append(token)
        row = draft.score([token])[-1]
        rows.append(row)
    return out, np.array(rows)


# %% g_propose_same_context fails a2.q5.law is propose_all_from_one_row
# Scores the text once and draws all drafts from its last row.
def propose(draft, tokens, gamma, noise):
    if not gamma:
        return [], np.zeros((0, 0))
    probs = draft.score(tokens[draft.length() :])[-1]
    picks = [noise.categorical(probs) for _ in range(gamma)]
    return picks, np.tile(probs, (gamma, 1))


# %% g_residual_clipped_at_one fails a2.q2.residual is residual_not_normalised
# Clips the difference to [0, 1] and leaves it at that.
def residual(p, q):
    diff = np.clip(p - q, 0, 1)
    if diff.sum() == 0:
        return p
    return diff


# %% g_residual_renormalised_by_p fails a2.q2.residual is residual_divided_by_the_mass_of_p
# Divides by the target's mass where it is larger, not by the differences' mass.
def residual(p, q):
    keep = p > q
    if not keep.any():
        return p
    return np.where(keep, p - q, 0.0) / p[keep].sum()


# %% g_sample_each_coin fails a2.q3.law is sample_a_coin_for_each
# Tosses a coin of its own for each token, and takes the first that comes up.
def sample(probs, uniforms):
    for token, (prob, u) in enumerate(zip(probs, uniforms)):
        if u < prob:
            return token
    return int(np.argmax(probs))


# %% g_sample_rounds fails a2.q3.law is sample_uniform
# Multiplies the uniform by V and takes the token at that place.
def sample(probs, uniforms):
    possible = np.flatnonzero(probs > 0)
    return int(possible[int(uniforms[0] * len(possible))])


# %% g_verify_coins_first fails a2.q4.prefix is verify_counts_all_accepted
# Tosses all coins first and counts the accepted ones, wherever they stand.
def verify(draft_tokens, draft_probs, target_probs, noise):
    ok = []
    for i, t in enumerate(draft_tokens):
        ok.append(noise.bernoulli(min(1.0, target_probs[i][t] / draft_probs[i][t])))
    n = sum(ok)
    if n == len(draft_tokens):
        return n, noise.categorical(target_probs[n])
    return n, noise.categorical(residual(target_probs[n], draft_probs[n]))


# %% g_verify_residual_swapped fails a2.q4.one is residual_swapped
# Calls residual with the rows the wrong way round.
def verify(draft_tokens, draft_probs, target_probs, noise):
    n = 0
    while n < len(draft_tokens):
        t = draft_tokens[n]
        if noise.bernoulli(min(target_probs[n][t] / draft_probs[n][t], 1.0)):
            n += 1
        else:
            return n, noise.categorical(residual(draft_probs[n], target_probs[n]))
    return n, noise.categorical(target_probs[n])


# %% g_verify_target_probability_of_bonus fails a2.q4.bonus is bonus_argmax also empty_draft_argmax
# Takes the mode of the last row for the bonus.
def verify(draft_tokens, draft_probs, target_probs, noise):
    for i in range(len(draft_tokens)):
        x = draft_tokens[i]
        ratio = target_probs[i, x] / draft_probs[i, x]
        if ratio < 1 and not noise.bernoulli(ratio):
            return i, noise.categorical(residual(target_probs[i], draft_probs[i]))
    return len(draft_tokens), int(target_probs[-1].argmax())


# %% k_accept_compares_sums fails a2.q1.accept
# Compares the distribution functions up to the token instead of the probabilities.
def accept(p, q, token, u):
    return bool(u * np.sum(q[: token + 1]) < np.sum(p[: token + 1]))


# %% k_accept_of_draw fails a2.q1.never
# Clips the ratio at a small positive number, to be safe.
def accept(p, q, token, u):
    ratio = max(1e-3, min(1.0, p[token] / q[token]))
    return bool(u < ratio)


# %% k_loop_draft_behind fails a2.q6.cost is cost_draft_starts_over
# Rolls the draft back to the prompt after each step.
def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    text = list(prompt)
    limit = len(text) + max_tokens
    while len(text) < limit:
        guesses, q = propose(draft, text, min(gamma, limit - len(text) - 1), noise)
        waiting = text[target.length() :]
        p = target.score(waiting + guesses)[len(waiting) - 1 :]
        n, token = verify(guesses, q, p, noise)
        for t in guesses[:n] + [token]:
            text.append(t)
            if t == eos:
                return text[len(prompt) :]
        target.rollback(len(text) - 1)
        draft.rollback(len(prompt) - 1)
    return text[len(prompt) :]


# %% k_loop_eos_left_out_of_text fails a2.q6.ends is eos_left_out
# Stops in front of eos.
def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    text = list(prompt)
    limit = len(text) + max_tokens
    done = False
    while len(text) < limit and not done:
        guesses, q = propose(draft, text, min(gamma, limit - len(text) - 1), noise)
        waiting = text[target.length() :]
        p = target.score(waiting + guesses)[len(waiting) - 1 :]
        n, token = verify(guesses, q, p, noise)
        step = guesses[:n] + [token]
        if eos is not None and eos in step:
            step = step[: step.index(eos)]
            done = True
        text += step
        target.rollback(len(text) - 1)
        draft.rollback(len(text) - 1)
    return text[len(prompt) :]


# %% k_loop_room_for_all fails a2.q6.ends is loop_overshoots also cost_drafts_beyond_the_end
# Drafts gamma tokens whatever room is left, and returns all of the last step.
def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    text = list(prompt)
    produced = 0
    while produced < max_tokens:
        guesses, q = propose(draft, text, gamma, noise)
        waiting = text[target.length() :]
        p = target.score(waiting + guesses)[len(waiting) - 1 :]
        n, token = verify(guesses, q, p, noise)
        for t in guesses[:n] + [token]:
            text.append(t)
            produced += 1
            if t == eos:
                return text[len(prompt) :]
        target.rollback(len(text) - 1)
        draft.rollback(len(text) - 1)
    return text[len(prompt) :]


# %% k_loop_target_keeps_everything fails a2.q6.law is loop_target_not_rolled_back
# Takes only the draft's cache back.
def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    answer = []
    while len(answer) < max_tokens:
        text = prompt + answer
        count = min(gamma, max_tokens - len(answer) - 1)
        guesses, q = propose(draft, text, count, noise)
        feed = text[target.length() :] or text[-1:]
        p = target.score(feed + guesses)[-count - 1 :]
        n, token = verify(guesses, q, p, noise)
        for t in [*guesses[:n], token]:
            answer.append(t)
            if t == eos:
                return answer
        draft.rollback(len(prompt) + len(answer) - 1)
    return answer


# %% k_propose_never_feeds_drafts fails a2.q5.law is propose_all_from_one_row
# Draws each draft after the text alone, going back after each.
def propose(draft, tokens, gamma, noise):
    names, laws = [], []
    for _ in range(gamma):
        row = draft.score(tokens[draft.length() :])[-1]
        draft.rollback(len(tokens) - 1)
        laws.append(row)
        names.append(noise.categorical(row))
    return names, np.array(laws)


# %% k_propose_renormalised_top fails a2.q5.law is propose_sharpened
# Draws from the two likeliest tokens, and reports the whole row.
def propose(draft, tokens, gamma, noise):
    out, rows = [], []
    for _ in range(gamma):
        row = draft.score((tokens + out)[draft.length() :])[-1]
        top = np.where(row >= np.sort(row)[-2], row, 0.0)
        out.append(noise.categorical(top / top.sum()))
        rows.append(row)
    return out, np.array(rows)


# %% k_residual_equal_raises fails a2.q2.equal
# Raises an error where both distributions are equal.
def residual(p, q):
    rest = [max(0.0, float(a) - float(b)) for a, b in zip(p, q)]
    total = sum(rest)
    if total == 0:
        raise ValueError("nothing left to draw from")
    return np.array(rest) / total


# %% k_residual_of_the_larger fails a2.q2.residual is residual_by_excess_of_q
# Keeps the target's whole probability wherever it is the larger one.
def residual(p, q):
    better = np.array([pi if pi > qi else 0.0 for pi, qi in zip(p, q)])
    total = better.sum()
    return better / total if total else p


# %% k_sample_race_smallest_wrong fails a2.q3.law is sample_race_multiplied
# Runs the race with the rates upside down.
def sample(probs, uniforms):
    live = np.flatnonzero(probs > 0)
    times = -np.log1p(-uniforms[live]) * probs[live]
    return int(live[np.argmin(times)])


# %% k_verify_bonus_from_residual_of_last fails a2.q4.bonus is bonus_from_the_residual
# Draws the last token from a residual in all cases.
def verify(draft_tokens, draft_probs, target_probs, noise):
    n = len(draft_tokens)
    for i, token in enumerate(draft_tokens):
        if not noise.bernoulli(min(1.0, target_probs[i][token] / draft_probs[i][token])):
            n = i
            break
    last = draft_probs[min(n, len(draft_tokens) - 1)] if draft_tokens else np.zeros(len(target_probs[0]))
    return n, noise.categorical(residual(target_probs[n], last))


# %% k_verify_ratio_of_rows_next fails a2.q4.one is verify_next_rows
# Reads the target's rows one too far along.
def verify(draft_tokens, draft_probs, target_probs, noise):
    k = 0
    for token, q in zip(draft_tokens, draft_probs):
        p = target_probs[k + 1]
        if not noise.bernoulli(min(1.0, p[token] / q[token])):
            return k, noise.categorical(residual(p, q))
        k += 1
    return k, noise.categorical(target_probs[k])


# %% k_verify_replacement_may_be_rejected fails a2.q4.one
# Draws the replacement from the target until it differs from the rejected token.
def verify(draft_tokens, draft_probs, target_probs, noise):
    for i, token in enumerate(draft_tokens):
        if not noise.bernoulli(min(1.0, target_probs[i][token] / draft_probs[i][token])):
            rest = np.array(target_probs[i])
            rest[token] = 0.0
            return i, noise.categorical(rest / rest.sum())
    return len(draft_tokens), noise.categorical(target_probs[len(draft_tokens)])


# %% n_accept_or_equal fails a2.q1.never is accept_equal
# Accepts at equality too.
def accept(p, q, token, u):
    return bool(u * q[token] <= p[token])


# %% n_accept_upside_down fails a2.q1.accept
# Compares with q / p.
def accept(p, q, token, u):
    if p[token] == 0:
        return False
    return bool(u < min(1, q[token] / p[token]))


# %% n_propose_first_row fails a2.q5.law is propose_from_the_first_row
# Reads the first row of what it feeds.
def propose(draft, tokens, gamma, noise):
    out, probs = [], []
    for _ in range(gamma):
        rows = draft.score((tokens + out)[draft.length() :])
        probs.append(rows[0])
        out.append(noise.categorical(rows[0]))
    return out, np.array(probs)


# %% n_residual_absolute fails a2.q2.residual is residual_absolute
# Takes the absolute difference for the positive part.
def residual(p, q):
    r = np.abs(p - q)
    return r / r.sum() if r.sum() > 0 else p


# %% n_residual_gives_q fails a2.q2.equal is residual_equal_is_uniform
# Returns a uniform distribution where nothing is left.
def residual(p, q):
    r = np.where(p > q, p - q, 0)
    if not r.any():
        return np.ones(len(p)) / len(p)
    return r / r.sum()


# %% n_residual_of_the_draft fails a2.q2.residual is residual_swapped
# Takes q - p.
def residual(p, q):
    r = np.clip(q - p, 0, None)
    total = r.sum()
    if total == 0:
        return p
    return r / total


# %% n_sample_one_late fails a2.q3.law is sample_next_id
# Returns the token after the one whose sum exceeds u.
def sample(probs, uniforms):
    total = 0.0
    for token, prob in enumerate(probs):
        if total > uniforms[0]:
            return token
        total += prob
    return int(np.flatnonzero(probs)[-1])


# %% n_spec_draft_keeps_the_rejected fails a2.q6.law
# Never takes the draft's cache back.
def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    text = list(prompt)
    while len(text) - len(prompt) < max_tokens:
        room = max_tokens - (len(text) - len(prompt))
        drafted, q = propose(draft, text, min(gamma, room - 1), noise)
        new = text[target.length() :]
        p = target.score(new + drafted)[len(new) - 1 :]
        n, extra = verify(drafted, q, p, noise)
        for token in drafted[:n] + [extra]:
            text.append(token)
            if token == eos:
                return text[len(prompt) :]
        target.rollback(len(text) - 1)
        draft.rollback(max(len(text) - 1, draft.length()))
    return text[len(prompt) :]


# %% n_spec_eos_at_the_end_only fails a2.q6.law is eos_at_the_end_of_a_step_only
# Looks for eos only in the last token of a step.
def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    text = list(prompt)
    while len(text) - len(prompt) < max_tokens:
        room = max_tokens - (len(text) - len(prompt))
        drafted, q = propose(draft, text, min(gamma, room - 1), noise)
        new = text[target.length() :]
        p = target.score(new + drafted)[len(new) - 1 :]
        n, extra = verify(drafted, q, p, noise)
        text += drafted[:n] + [extra]
        if text[-1] == eos:
            break
        target.rollback(len(text) - 1)
        draft.rollback(len(text) - 1)
    return text[len(prompt) :]


# %% n_verify_bonus_row_early fails a2.q4.one is bonus_row_too_early
# Draws the bonus from the row before the last.
def verify(draft_tokens, draft_probs, target_probs, noise):
    G = len(draft_tokens)
    for i in range(G):
        x = draft_tokens[i]
        if not noise.bernoulli(min(1.0, target_probs[i, x] / draft_probs[i, x])):
            return i, noise.categorical(residual(target_probs[i], draft_probs[i]))
    return G, noise.categorical(target_probs[max(G - 1, 0)])


# %% n_verify_replacement_from_target fails a2.q4.one is verify_replaces_from_p
# Draws the replacement from p itself.
def verify(draft_tokens, draft_probs, target_probs, noise):
    i = 0
    while i < len(draft_tokens):
        x = draft_tokens[i]
        if not noise.bernoulli(min(1.0, target_probs[i][x] / draft_probs[i][x])):
            break
        i += 1
    return i, noise.categorical(target_probs[i])


# %% n_verify_rest_of_the_next_row fails a2.q4.prefix is verify_residual_of_the_first_row
# Draws the replacement from the residual of the first row always.
def verify(draft_tokens, draft_probs, target_probs, noise):
    n = 0
    for t, q, p in zip(draft_tokens, draft_probs, target_probs):
        if not noise.bernoulli(min(1.0, p[t] / q[t])):
            return n, noise.categorical(residual(target_probs[0], draft_probs[0]))
        n += 1
    return n, noise.categorical(target_probs[n])
