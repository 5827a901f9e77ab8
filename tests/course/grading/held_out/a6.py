"""Wrong submissions to A6 that no check was written from: what is caught and named of them is counted."""


# %% admit_counts_pages_once fails a6.q2.memory is admit_one_after_another_for_nothing
# Never lowers what is free.
def admit(waiting, running, free, max_running, size):
    order = sorted(waiting, key=lambda one: one["id"])[: max(0, max_running - len(running))]
    chosen = []
    for request in order:
        spare = 1 if running or chosen else 0
        if pages(request["prompt"] + request["made"], size) + spare > free:
            break
        chosen.append(request["id"])
    return chosen


# %% admit_exact fails a6.q2.memory is admit_without_the_spare_page
# Lets pages run out at once.
def admit(waiting, running, free, max_running, size):
    chosen = []
    for request in sorted(waiting, key=lambda one: one["id"])[: max(0, max_running - len(running))]:
        free -= pages(request["prompt"] + request["made"], size)
        if free < 0:
            break
        chosen.append(request["id"])
    return chosen


# %% admit_filters fails a6.q2.memory is admit_overtaken
# Keeps all that fit.
def admit(waiting, running, free, max_running, size):
    chosen = []
    for request in sorted(waiting, key=lambda one: one["id"]):
        need = pages(request["prompt"] + request["made"], size)
        spare = 1 if running or chosen else 0
        if len(running) + len(chosen) < max_running and need + spare <= free:
            chosen.append(request["id"])
            free -= need
    return chosen


# %% admit_first_only fails a6.q2.order is admit_one_at_a_time
# Returns after the first.
def admit(waiting, running, free, max_running, size):
    if not waiting or len(running) == max_running:
        return []
    request = min(waiting, key=lambda one: one["id"])
    need = pages(request["prompt"] + request["made"], size) + (1 if running else 0)
    return [request["id"]] if need <= free else []


# %% admit_places_of_new_ones fails a6.q2.order is admit_forgets_who_runs
# Counts places from nothing.
def admit(waiting, running, free, max_running, size):
    chosen = []
    for request in sorted(waiting, key=lambda one: one["id"])[:max_running]:
        need = pages(request["prompt"] + request["made"], size)
        if need + (1 if running or chosen else 0) > free:
            break
        free -= need
        chosen.append(request["id"])
    return chosen


# %% admit_prompt_pages fails a6.q2.memory is admit_by_the_prompt_alone
# Forgets what was made.
def admit(waiting, running, free, max_running, size):
    chosen = []
    for request in sorted(waiting, key=lambda one: one["id"])[: max(0, max_running - len(running))]:
        need = -(-request["prompt"] // size)
        if need + (1 if running or chosen else 0) > free:
            break
        free -= need
        chosen.append(request["id"])
    return chosen


# %% admit_stable_list fails a6.q2.order is admit_as_listed
# Takes them as they stand.
def admit(waiting, running, free, max_running, size):
    chosen, places = [], max_running - len(running)
    while waiting[len(chosen) :] and len(chosen) < places:
        request = waiting[len(chosen)]
        need = pages(request["prompt"] + request["made"], size)
        alone = not running and not chosen
        if need + (0 if alone else 1) > free:
            return chosen
        free = free - need
        chosen.append(request["id"])
    return chosen


# %% f_ad_max_ignores_new fails a6.q2.order is admit_forgets_whom_it_admits
# Max_running compared with those that run already.
def admit(waiting, running, free, max_running, size):
    out = []
    for r in sorted(waiting, key=lambda r: r["id"]):
        n = pages(r["prompt"] + r["made"], size)
        if len(running) >= max_running or n + (len(running) + len(out) > 0) > free:
            break
        out.append(r["id"])
        free -= n
    return out


# %% f_ad_no_spare fails a6.q2.memory is admit_without_the_spare_page
# No spare page.
def admit(waiting, running, free, max_running, size):
    out = []
    for r in sorted(waiting, key=lambda r: r["id"]):
        n = pages(r["prompt"] + r["made"], size)
        if len(running) + len(out) >= max_running or n > free:
            break
        out.append(r["id"])
        free -= n
    return out


# %% f_ad_overtake fails a6.q2.memory is admit_overtaken
# Skips what does not fit.
def admit(waiting, running, free, max_running, size):
    out = []
    for r in sorted(waiting, key=lambda r: r["id"]):
        n = pages(r["prompt"] + r["made"], size)
        k = len(running) + len(out)
        if k < max_running and n + (1 if k else 0) <= free:
            out.append(r["id"])
            free -= n
    return out


# %% f_ad_smallest_first fails a6.q2.order is admit_shortest_first
# Smallest first.
def admit(waiting, running, free, max_running, size):
    out = []
    for r in sorted(waiting, key=lambda r: (r["prompt"] + r["made"], r["id"])):
        n = pages(r["prompt"] + r["made"], size)
        k = len(running) + len(out)
        if k >= max_running or n + (k > 0) > free:
            break
        out.append(r["id"])
        free -= n
    return out


# %% f_ad_spare_only_if_running fails a6.q2.memory is admit_spare_page_for_old_ones_only
# Alone means nobody runs yet, others admitted now do not count.
def admit(waiting, running, free, max_running, size):
    out = []
    for r in sorted(waiting, key=lambda r: r["id"]):
        n = pages(r["prompt"] + r["made"], size)
        if len(running) + len(out) >= max_running or n + (len(running) > 0) > free:
            break
        out.append(r["id"])
        free -= n
    return out


# %% f_ad_spare_taken fails a6.q2.memory is admit_spare_page_taken
# The spare page is taken from the free ones.
def admit(waiting, running, free, max_running, size):
    out = []
    for r in sorted(waiting, key=lambda r: r["id"]):
        k = len(running) + len(out)
        n = pages(r["prompt"] + r["made"], size) + (k > 0)
        if k >= max_running or n > free:
            break
        out.append(r["id"])
        free -= n
    return out


# %% f_ad_tokens_not_pages fails a6.q2.order is nothing
# Tokens compared with pages times size, without rounding.
def admit(waiting, running, free, max_running, size):
    out, slots = [], free * size
    for r in sorted(waiting, key=lambda r: r["id"]):
        n = r["prompt"] + r["made"]
        k = len(running) + len(out)
        if k >= max_running or n + size * (k > 0) > slots:
            break
        out.append(r["id"])
        slots -= n
    return out


# %% f_bg_index fails a6.q6.gamma is gamma_time_per_row
# Seconds[m].
def best_gamma(alphas, seconds, draft_s, largest):
    best, rate = 0, 0
    for g in range(largest + 1):
        m = len(alphas) * (g + 1)
        if m >= len(seconds):
            break
        s = sum(a**k for a in alphas for k in range(g + 1)) / (seconds[m] + g * draft_s)
        if s > rate:
            best, rate = g, s
    return best


# %% f_bg_largest_excluded fails a6.q6.gamma is gamma_largest_left_out
# The largest is left out.
def best_gamma(alphas, seconds, draft_s, largest):
    best, rate = 0, 0
    for g in range(max(1, largest)):
        m = len(alphas) * (g + 1)
        if m > len(seconds):
            break
        s = sum(a**k for a in alphas for k in range(g + 1)) / (seconds[m - 1] + g * draft_s)
        if s > rate:
            best, rate = g, s
    return best


# %% f_bg_mean_alpha fails a6.q6.gamma is gamma_of_the_mean
# The mean alpha.
def best_gamma(alphas, seconds, draft_s, largest):
    a = sum(alphas) / len(alphas)
    best, rate = 0, 0
    for g in range(largest + 1):
        m = len(alphas) * (g + 1)
        if m > len(seconds):
            break
        s = sum(a**k for k in range(g + 1)) / (seconds[m - 1] + g * draft_s)
        if s > rate:
            best, rate = g, s
    return best


# %% f_bg_no_bonus fails a6.q6.gamma is gamma_without_the_bonus
# Without the target's own token.
def best_gamma(alphas, seconds, draft_s, largest):
    best, rate = 0, 0
    for g in range(largest + 1):
        m = len(alphas) * (g + 1)
        if m > len(seconds):
            break
        s = sum(a**k for a in alphas for k in range(1, g + 1)) / (seconds[m - 1] + g * draft_s)
        if s > rate:
            best, rate = g, s
    return best


# %% f_bg_one_row fails a6.q6.gamma is gamma_rows_without_the_newest
# Gamma rows, not gamma + 1.
def best_gamma(alphas, seconds, draft_s, largest):
    best, rate = 0, 0
    for g in range(largest + 1):
        m = len(alphas) * max(g, 1)
        if m > len(seconds):
            break
        s = sum(a**k for a in alphas for k in range(g + 1)) / (seconds[m - 1] + g * draft_s)
        if s > rate:
            best, rate = g, s
    return best


# %% f_bg_stops_early fails a6.q6.gamma is gamma_stops_at_the_first_loss
# Stops at the first fall.
def best_gamma(alphas, seconds, draft_s, largest):
    best, rate = 0, 0
    for g in range(largest + 1):
        m = len(alphas) * (g + 1)
        if m > len(seconds):
            break
        s = sum(a**k for a in alphas for k in range(g + 1)) / (seconds[m - 1] + g * draft_s)
        if s <= rate:
            break
        best, rate = g, s
    return best


# %% f_pg_plus_one fails a6.q1.pages is pages_always_one_more
# Always one more.
def pages(slots, size):
    return slots // size + 1


# %% f_pg_round fails a6.q1.pages is pages_rounded_to_nearest
# Rounded.
def pages(slots, size):
    return round(slots / size)


# %% f_pre_all fails a6.q4.preempt is preempt_everybody_but_the_oldest
# All but the oldest.
def preempt(held, needs, free):
    return sorted(held, reverse=True)[:-1] if sum(needs.values()) > free else []


# %% f_pre_largest fails a6.q4.preempt is preempt_largest_first
# The one that holds most.
def preempt(held, needs, free):
    out = []
    old = min(held) if held else None
    for k in sorted((k for k in held if k != old), key=lambda k: (-held[k], -k)):
        if sum(v for n, v in needs.items() if n not in out) <= free:
            break
        out.append(k)
        free += held[k]
    return out


# %% f_pre_needs_stay fails a6.q4.preempt is preempt_counts_the_needs_of_victims
# The needs of those set back still count.
def preempt(held, needs, free):
    out, total = [], sum(needs.values())
    for k in sorted(held, reverse=True)[:-1]:
        if total <= free:
            break
        out.append(k)
        free += held[k]
    return out


# %% f_pre_oldest_too fails a6.q4.preempt is preempt_the_oldest_too
# The oldest may be set back.
def preempt(held, needs, free):
    out = []
    for k in sorted(held, reverse=True):
        if sum(v for n, v in needs.items() if n not in out) <= free:
            break
        out.append(k)
        free += held[k]
    return out


# %% f_pre_sorted fails a6.q4.preempt is preempt_sorted
# In the order of arrival.
def preempt(held, needs, free):
    out = []
    for k in sorted(held, reverse=True)[:-1]:
        if sum(v for n, v in needs.items() if n not in out) <= free:
            break
        out.append(k)
        free += held[k]
    return sorted(out)


# %% f_rw_decode_not_subtracted fails a6.q3.budget is rows_decoding_is_free
# Rows of decoding do not count for the budget.
def rows(running, max_rows, chunk):
    lack = {r["id"]: r["prompt"] + r["made"] - r["fed"] for r in running}
    plan = {r["id"]: r["gamma"] + 1 for r in running if lack[r["id"]] == 1}
    left = max_rows
    for i, k in enumerate(sorted(k for k in lack if lack[k] > 1)):
        n = min(chunk, lack[k] - 1, left)
        n = max(1, n) if i == 0 else n
        if n < 1:
            break
        plan[k] = n
        left -= n
    return plan


# %% f_rw_no_floor fails a6.q3.starved is rows_starving_prompt
# Nobody is owed a row.
def rows(running, max_rows, chunk):
    lack = {r["id"]: r["prompt"] + r["made"] - r["fed"] for r in running}
    plan = {r["id"]: r["gamma"] + 1 for r in running if lack[r["id"]] == 1}
    left = max_rows - sum(plan.values())
    for k in sorted(k for k in lack if lack[k] > 1):
        n = min(chunk, lack[k] - 1, left)
        if n < 1:
            break
        plan[k] = n
        left -= n
    return plan


# %% f_rw_no_newest fails a6.q3.budget is rows_drafts_only
# Gamma rows.
def rows(running, max_rows, chunk):
    lack = {r["id"]: r["prompt"] + r["made"] - r["fed"] for r in running}
    plan = {r["id"]: r["gamma"] for r in running if lack[r["id"]] == 1 and r["gamma"]}
    left = max_rows - sum(plan.values())
    for i, k in enumerate(sorted(k for k in lack if lack[k] > 1)):
        n = min(chunk, lack[k] - 1, left)
        n = max(1, n) if i == 0 else n
        if n < 1:
            break
        plan[k] = n
        left -= n
    return plan


# %% f_rw_only_prompt fails a6.q3.budget is rows_decode_after_the_prompt
# Only the prompt is fed, not what was made.
def rows(running, max_rows, chunk):
    lack = {r["id"]: r["prompt"] + r["made"] - r["fed"] for r in running}
    plan = {r["id"]: r["gamma"] + 1 for r in running if lack[r["id"]] == 1}
    left = max_rows - sum(plan.values())
    for i, r in enumerate(sorted((r for r in running if lack[r["id"]] > 1), key=lambda r: r["id"])):
        n = min(chunk, max(1, r["prompt"] - r["fed"] - 1), left)
        n = max(1, n) if i == 0 else n
        if n < 1:
            break
        plan[r["id"]] = n
        left -= n
    return plan


# %% f_rw_whole_or_nothing fails a6.q3.budget is rows_whole_chunks_only
# Whole chunks only.
def rows(running, max_rows, chunk):
    lack = {r["id"]: r["prompt"] + r["made"] - r["fed"] for r in running}
    plan = {r["id"]: r["gamma"] + 1 for r in running if lack[r["id"]] == 1}
    left = max_rows - sum(plan.values())
    for i, k in enumerate(sorted(k for k in lack if lack[k] > 1)):
        n = min(chunk, lack[k] - 1)
        if n > left:
            if i:
                break
            n = max(1, left)
        plan[k] = n
        left -= n
    return plan


# %% f_rw_youngest_first fails a6.q3.budget is rows_youngest_prompt_first
# Youngest first.
def rows(running, max_rows, chunk):
    lack = {r["id"]: r["prompt"] + r["made"] - r["fed"] for r in running}
    plan = {r["id"]: r["gamma"] + 1 for r in running if lack[r["id"]] == 1}
    left = max_rows - sum(plan.values())
    for i, k in enumerate(sorted((k for k in lack if lack[k] > 1), reverse=True)):
        n = min(chunk, lack[k] - 1, left)
        n = max(1, n) if i == 0 else n
        if n < 1:
            break
        plan[k] = n
        left -= n
    return plan


# %% f_rw_zeros_listed fails a6.q3.budget is rows_zeros_listed
# Those without rows are listed with 0.
def rows(running, max_rows, chunk):
    lack = {r["id"]: r["prompt"] + r["made"] - r["fed"] for r in running}
    plan = {r["id"]: r["gamma"] + 1 for r in running if lack[r["id"]] == 1}
    left = max_rows - sum(plan.values())
    for i, k in enumerate(sorted(k for k in lack if lack[k] > 1)):
        n = max(0, min(chunk, lack[k] - 1, left))
        n = max(1, n) if i == 0 else n
        plan[k] = n
        left -= n
    return plan


# %% f_sc_admitted_wait fails a6.q5.plan is plan_admitted_wait_a_step
# The admitted get no rows.
def schedule(state):
    size, free = state["page_size"], state["free"]
    ad = admit(state["waiting"], state["running"], free, state["max_running"], size)
    plan = rows(state["running"], state["max_rows"], state["chunk"])
    held = {r["id"]: pages(r["fed"], size) for r in state["running"]}
    needs = {r["id"]: pages(r["fed"] + plan.get(r["id"], 0), size) - held[r["id"]] for r in state["running"]}
    out = preempt(held, needs, free)
    return {"admitted": ad, "preempted": out, "rows": {k: v for k, v in plan.items() if k not in out}}


# %% f_sc_free_reduced fails a6.q5.plan is plan_admitted_take_their_pages_at_once
# What the admitted will need is taken from free as well.
def schedule(state):
    size, free = state["page_size"], state["free"]
    ad = admit(state["waiting"], state["running"], free, state["max_running"], size)
    new = [r for r in state["waiting"] if r["id"] in ad]
    run = state["running"] + new
    plan = rows(run, state["max_rows"], state["chunk"])
    held = {r["id"]: pages(r["fed"], size) for r in run}
    needs = {r["id"]: pages(r["fed"] + plan.get(r["id"], 0), size) - held[r["id"]] for r in run}
    out = preempt(held, needs, free - sum(pages(r["prompt"] + r["made"], size) for r in new))
    return {"admitted": ad, "preempted": out, "rows": {k: v for k, v in plan.items() if k not in out}}


# %% f_sc_mutates fails a6.q5.plan is nothing
# Appends the admitted to the state.
def schedule(state):
    size, free = state["page_size"], state["free"]
    ad = admit(state["waiting"], state["running"], free, state["max_running"], size)
    run = state["running"]
    run.extend(r for r in state["waiting"] if r["id"] in ad)
    plan = rows(run, state["max_rows"], state["chunk"])
    held = {r["id"]: pages(r["fed"], size) for r in run}
    needs = {r["id"]: pages(r["fed"] + plan.get(r["id"], 0), size) - held[r["id"]] for r in run}
    out = preempt(held, needs, free)
    return {"admitted": ad, "preempted": out, "rows": {k: v for k, v in plan.items() if k not in out}}


# %% f_sc_needs_by_rows fails a6.q5.plan is plan_pages_for_the_rows_alone
# Pages for the rows alone.
def schedule(state):
    size, free = state["page_size"], state["free"]
    ad = admit(state["waiting"], state["running"], free, state["max_running"], size)
    run = state["running"] + [r for r in state["waiting"] if r["id"] in ad]
    plan = rows(run, state["max_rows"], state["chunk"])
    held = {r["id"]: pages(r["fed"], size) for r in run}
    needs = {r["id"]: pages(plan.get(r["id"], 0), size) for r in run}
    out = preempt(held, needs, free)
    return {"admitted": ad, "preempted": out, "rows": {k: v for k, v in plan.items() if k not in out}}


# %% f_sc_rows_again fails a6.q5.plan is plan_rows_given_again
# Rows are given anew after somebody was set back.
def schedule(state):
    size, free = state["page_size"], state["free"]
    ad = admit(state["waiting"], state["running"], free, state["max_running"], size)
    run = state["running"] + [r for r in state["waiting"] if r["id"] in ad]
    plan = rows(run, state["max_rows"], state["chunk"])
    held = {r["id"]: pages(r["fed"], size) for r in run}
    needs = {r["id"]: pages(r["fed"] + plan.get(r["id"], 0), size) - held[r["id"]] for r in run}
    out = preempt(held, needs, free)
    return {
        "admitted": ad,
        "preempted": out,
        "rows": rows([r for r in run if r["id"] not in out], state["max_rows"], state["chunk"]),
    }


# %% gamma_accepted_only fails a6.q6.gamma is gamma_without_the_bonus
# Counts accepted drafts.
def best_gamma(alphas, seconds, draft_s, largest):
    rates = []
    for gamma in range(largest + 1):
        count = len(alphas) * (gamma + 1)
        if count <= len(seconds):
            tokens = sum(sum(alpha**k for k in range(1, gamma + 1)) for alpha in alphas)
            rates.append(tokens / (seconds[count - 1] + gamma * draft_s))
    return rates.index(max(rates))


# %% gamma_alone fails a6.q6.gamma is gamma_of_one_text
# As for one reader.
def best_gamma(alphas, seconds, draft_s, largest):
    rates = []
    for gamma in range(largest + 1):
        count = gamma + 1
        if count <= len(seconds):
            tokens = sum(sum(alpha**k for k in range(gamma + 1)) for alpha in alphas)
            rates.append(tokens / (seconds[count - 1] + gamma * draft_s))
    return rates.index(max(rates))


# %% gamma_average_alpha fails a6.q6.gamma is gamma_of_the_mean
# Of the mean alpha.
def best_gamma(alphas, seconds, draft_s, largest):
    rates = []
    for gamma in range(largest + 1):
        count = len(alphas) * (gamma + 1)
        if count <= len(seconds):
            tokens = len(alphas) * sum((sum(alphas) / len(alphas)) ** k for k in range(gamma + 1))
            rates.append(tokens / (seconds[count - 1] + gamma * draft_s))
    return rates.index(max(rates))


# %% gamma_last_of_equals fails a6.q6.gamma is gamma_largest_of_equals
# The last of the best.
def best_gamma(alphas, seconds, draft_s, largest):
    rates = []
    for gamma in range(largest + 1):
        count = len(alphas) * (gamma + 1)
        if count <= len(seconds):
            tokens = sum(sum(alpha**k for k in range(gamma + 1)) for alpha in alphas)
            rates.append(tokens / (seconds[count - 1] + gamma * draft_s))
    return len(rates) - 1 - rates[::-1].index(max(rates))


# %% gamma_many_draft_forwards fails a6.q6.gamma is gamma_drafts_for_each_request
# A draft forward for each request.
def best_gamma(alphas, seconds, draft_s, largest):
    rates = []
    for gamma in range(largest + 1):
        count = len(alphas) * (gamma + 1)
        if count <= len(seconds):
            tokens = sum(sum(alpha**k for k in range(gamma + 1)) for alpha in alphas)
            rates.append(tokens / (seconds[count - 1] + gamma * draft_s * len(alphas)))
    return rates.index(max(rates))


# %% gamma_no_draft_time fails a6.q6.gamma is gamma_drafts_are_free
# Leaves the draft's time out.
def best_gamma(alphas, seconds, draft_s, largest):
    rates = []
    for gamma in range(largest + 1):
        count = len(alphas) * (gamma + 1)
        if count <= len(seconds):
            tokens = sum(sum(alpha**k for k in range(gamma + 1)) for alpha in alphas)
            rates.append(tokens / (seconds[count - 1]))
    return rates.index(max(rates))


# %% gamma_three_quarters fails a6.q6.gamma is nothing
# A rule of thumb.
def best_gamma(alphas, seconds, draft_s, largest):
    return 4 if len(alphas) < 4 else 2 if len(alphas) < 16 else 0


# %% gamma_until_it_falls fails a6.q6.gamma is gamma_stops_at_the_first_loss
# Stops when the rate falls.
def best_gamma(alphas, seconds, draft_s, largest):
    rates = []
    for gamma in range(largest + 1):
        count = len(alphas) * (gamma + 1)
        if count <= len(seconds):
            tokens = sum(sum(alpha**k for k in range(gamma + 1)) for alpha in alphas)
            rates.append(tokens / (seconds[count - 1] + gamma * draft_s))
    gamma = 0
    while gamma + 1 < len(rates) and rates[gamma + 1] > rates[gamma]:
        gamma += 1
    return gamma


# %% pages_by_int fails a6.q1.pages is pages_rounded_down
# Cuts the digits off.
def pages(slots, size):
    return int(slots / size)


# %% pages_floor_plus fails a6.q1.pages is pages_always_one_more
# Adds a page unless the division is nothing.
def pages(slots, size):
    full = slots // size
    return full + 1


# %% plan_batch_by_batch fails a6.q5.run is plan_admits_when_nobody_runs
# Admits into an empty engine.
def schedule(state):
    size = state["page_size"]
    new = admit(state["waiting"], state["running"], state["free"], state["max_running"], size)
    if state["running"]:
        new = []
    everyone = {request["id"]: request for request in state["running"]}
    everyone.update((request["id"], request) for request in state["waiting"] if request["id"] in new)
    given = rows(list(everyone.values()), state["max_rows"], state["chunk"])
    held = {number: pages(request["fed"], size) for number, request in everyone.items()}
    needs = {}
    for number, count in given.items():
        needs[number] = pages(everyone[number]["fed"] + count, size) - held[number]
    gone = preempt(held, needs, state["free"])
    for number in gone:
        given.pop(number, None)
    return {"admitted": new, "preempted": gone, "rows": given}


# %% plan_keeps_the_rows fails a6.q5.plan is plan_victims_keep_rows
# Leaves the rows of who is set back.
def schedule(state):
    size = state["page_size"]
    new = admit(state["waiting"], state["running"], state["free"], state["max_running"], size)
    everyone = {request["id"]: request for request in state["running"]}
    everyone.update((request["id"], request) for request in state["waiting"] if request["id"] in new)
    given = rows(list(everyone.values()), state["max_rows"], state["chunk"])
    held = {number: pages(request["fed"], size) for number, request in everyone.items()}
    needs = {}
    for number, count in given.items():
        needs[number] = pages(everyone[number]["fed"] + count, size) - held[number]
    gone = preempt(held, needs, state["free"])
    return {"admitted": new, "preempted": gone, "rows": given}


# %% plan_never_comes_back fails a6.q5.run is plan_drops_who_is_set_back
# Looks at fresh requests only.
def schedule(state):
    size = state["page_size"]
    fresh = [request for request in state["waiting"] if request["made"] == 0]
    new = admit(fresh, state["running"], state["free"], state["max_running"], size)
    everyone = {request["id"]: request for request in state["running"]}
    everyone.update((request["id"], request) for request in state["waiting"] if request["id"] in new)
    given = rows(list(everyone.values()), state["max_rows"], state["chunk"])
    held = {number: pages(request["fed"], size) for number, request in everyone.items()}
    needs = {}
    for number, count in given.items():
        needs[number] = pages(everyone[number]["fed"] + count, size) - held[number]
    gone = preempt(held, needs, state["free"])
    for number in gone:
        given.pop(number, None)
    return {"admitted": new, "preempted": gone, "rows": given}


# %% plan_only_old_ones_run fails a6.q5.plan is plan_admitted_wait_a_step
# Gives new ones their rows in the next step.
def schedule(state):
    size = state["page_size"]
    new = admit(state["waiting"], state["running"], state["free"], state["max_running"], size)
    everyone = {request["id"]: request for request in state["running"]}
    given = rows(list(everyone.values()), state["max_rows"], state["chunk"])
    held = {number: pages(request["fed"], size) for number, request in everyone.items()}
    needs = {}
    for number, count in given.items():
        needs[number] = pages(everyone[number]["fed"] + count, size) - held[number]
    gone = preempt(held, needs, state["free"])
    for number in gone:
        given.pop(number, None)
    return {"admitted": new, "preempted": gone, "rows": given}


# %% plan_pages_of_rows fails a6.q5.plan is plan_pages_for_the_rows_alone
# Counts the pages of the rows.
def schedule(state):
    size = state["page_size"]
    new = admit(state["waiting"], state["running"], state["free"], state["max_running"], size)
    everyone = {request["id"]: request for request in state["running"]}
    everyone.update((request["id"], request) for request in state["waiting"] if request["id"] in new)
    given = rows(list(everyone.values()), state["max_rows"], state["chunk"])
    held = {number: pages(request["fed"], size) for number, request in everyone.items()}
    needs = {}
    for number, count in given.items():
        needs[number] = pages(count, size)
    gone = preempt(held, needs, state["free"])
    for number in gone:
        given.pop(number, None)
    return {"admitted": new, "preempted": gone, "rows": given}


# %% plan_spares_the_new fails a6.q5.plan is nothing
# Never sets back those that were just admitted.
def schedule(state):
    size = state["page_size"]
    new = admit(state["waiting"], state["running"], state["free"], state["max_running"], size)
    everyone = {request["id"]: request for request in state["running"]}
    everyone.update((request["id"], request) for request in state["waiting"] if request["id"] in new)
    given = rows(list(everyone.values()), state["max_rows"], state["chunk"])
    held = {number: pages(request["fed"], size) for number, request in everyone.items() if number not in new}
    needs = {}
    for number, count in given.items():
        needs[number] = pages(everyone[number]["fed"] + count, size) - held.get(number, 0)
    gone = preempt(held, needs, state["free"])
    for number in gone:
        given.pop(number, None)
    return {"admitted": new, "preempted": gone, "rows": given}


# %% plan_takes_twice fails a6.q5.plan is plan_admitted_take_their_pages_at_once
# Takes the pages of new ones off at once.
def schedule(state):
    size = state["page_size"]
    new = admit(state["waiting"], state["running"], state["free"], state["max_running"], size)
    everyone = {request["id"]: request for request in state["running"]}
    everyone.update((request["id"], request) for request in state["waiting"] if request["id"] in new)
    given = rows(list(everyone.values()), state["max_rows"], state["chunk"])
    held = {number: pages(request["fed"], size) for number, request in everyone.items()}
    needs = {}
    for number, count in given.items():
        needs[number] = pages(everyone[number]["fed"] + count, size) - held[number]
    gone = preempt(
        held, needs, state["free"] - sum(pages(everyone[i]["prompt"] + everyone[i]["made"], size) for i in new)
    )
    for number in gone:
        given.pop(number, None)
    return {"admitted": new, "preempted": gone, "rows": given}


# %% preempt_down_to_nobody fails a6.q4.preempt is preempt_the_oldest_too
# Goes on to the last.
def preempt(held, needs, free):
    gone = []
    for number in sorted(held)[::-1]:
        if sum(n for i, n in needs.items() if i not in gone) <= free:
            break
        gone.append(number)
        free += held[number]
    return gone


# %% preempt_from_the_front fails a6.q4.preempt is preempt_oldest_first
# Sets the oldest back.
def preempt(held, needs, free):
    order, gone = sorted(held), []
    while len(gone) < len(order) - 1 and sum(n for i, n in needs.items() if i not in gone) > free:
        free += held[order[len(gone)]]
        gone.append(order[len(gone)])
    return gone


# %% preempt_greedy fails a6.q4.preempt is preempt_largest_first
# Sets the largest back.
def preempt(held, needs, free):
    gone = []
    while sum(n for i, n in needs.items() if i not in gone) > free:
        left = [i for i in sorted(held)[1:] if i not in gone]
        if not left:
            break
        victim = max(left, key=lambda i: held[i])
        gone.append(victim)
        free += held[victim]
    return gone


# %% preempt_keeps_count fails a6.q4.preempt is preempt_counts_the_needs_of_victims
# Subtracts no needs.
def preempt(held, needs, free):
    missing, gone = sum(needs.values()) - free, []
    for number in sorted(held)[:0:-1]:
        if missing <= 0:
            break
        missing -= held[number]
        gone.append(number)
    return gone


# %% preempt_no_refund fails a6.q4.preempt is preempt_forgets_what_is_given_back
# Forgets what comes back.
def preempt(held, needs, free):
    gone = []
    for number in sorted(held)[:0:-1]:
        if sum(n for i, n in needs.items() if i not in gone) <= free:
            break
        gone.append(number)
    return gone


# %% preempt_single fails a6.q4.preempt is preempt_one_only
# Sets one back at most.
def preempt(held, needs, free):
    if sum(needs.values()) > free and len(held) > 1:
        return [max(held)]
    return []


# %% rows_all_of_the_prompt fails a6.q3.budget is rows_whole_prompt
# Feeds the newest token with the prompt.
def rows(running, max_rows, chunk):
    plan, budget, first = {}, max_rows, True
    todo = {}
    for request in running:
        lacks = request["prompt"] + request["made"] - request["fed"]
        if lacks == 1:
            plan[request["id"]] = 1 + request["gamma"]
            budget -= 1 + request["gamma"]
        else:
            todo[request["id"]] = lacks
    for number in sorted(todo):
        share = min(todo[number], chunk, budget)
        if first:
            share = max(share, 1)
        first = False
        if share <= 0:
            break
        plan[number] = share
        budget -= share
    return plan


# %% rows_big_prompts fails a6.q3.budget is rows_without_a_chunk
# Forgets the chunk.
def rows(running, max_rows, chunk):
    plan, budget, first = {}, max_rows, True
    order = sorted(running, key=lambda one: one["id"])
    for request in order:
        if request["prompt"] + request["made"] - request["fed"] == 1:
            plan[request["id"]] = 1 + request["gamma"]
            budget -= 1 + request["gamma"]
    for request in order:
        todo = request["prompt"] + request["made"] - request["fed"] - 1
        if todo > 0:
            share = max(min(todo, budget), int(first))
            first = False
            if share > 0:
                plan[request["id"]] = share
                budget -= share
    return plan


# %% rows_list_order fails a6.q3.budget is rows_prompts_as_listed
# Does not sort the prompts.
def rows(running, max_rows, chunk):
    plan, budget, first = {}, max_rows, True
    for request in running:
        if request["prompt"] + request["made"] - request["fed"] == 1:
            plan[request["id"]] = 1 + request["gamma"]
            budget -= 1 + request["gamma"]
    for request in running:
        todo = request["prompt"] + request["made"] - request["fed"] - 1
        if not todo:
            continue
        share = min(todo, chunk, budget)
        share = max(share, 1) if first else share
        first = False
        if share > 0:
            plan[request["id"]] = share
            budget -= share
    return plan


# %% rows_prompt_or_not fails a6.q3.again is rows_decode_after_the_prompt
# Asks only whether the prompt is fed.
def rows(running, max_rows, chunk):
    plan, budget, first = {}, max_rows, True
    order = sorted(running, key=lambda one: one["id"])
    for request in order:
        if request["fed"] >= request["prompt"] - 1:
            plan[request["id"]] = 1 + request["gamma"]
            budget -= 1 + request["gamma"]
    for request in order:
        todo = request["prompt"] - 1 - request["fed"]
        if todo > 0:
            share = min(todo, chunk, budget)
            share = max(share, 1) if first else share
            first = False
            if share > 0:
                plan[request["id"]] = share
                budget -= share
    return plan


# %% rows_token_each fails a6.q3.budget is rows_without_drafts
# Gives one row to whoever decodes.
def rows(running, max_rows, chunk):
    plan = {}
    for request in running:
        if request["fed"] + 1 == request["prompt"] + request["made"]:
            plan[request["id"]] = 1
    budget = max_rows - len(plan)
    first = True
    for request in sorted(running, key=lambda one: one["id"]):
        todo = request["prompt"] + request["made"] - 1 - request["fed"]
        if todo > 0:
            share = max(min(todo, chunk, budget), 1 if first else 0)
            first = False
            if share > 0:
                plan[request["id"]] = share
                budget -= share
    return plan


# %% rows_wait_for_room fails a6.q3.starved is rows_starving_prompt
# Stops at zero.
def rows(running, max_rows, chunk):
    plan, budget = {}, max_rows
    order = sorted(running, key=lambda one: one["id"])
    for request in order:
        if request["prompt"] + request["made"] - request["fed"] == 1:
            plan[request["id"]] = 1 + request["gamma"]
            budget -= 1 + request["gamma"]
    for request in order:
        todo = request["prompt"] + request["made"] - request["fed"] - 1
        if todo > 0 and budget > 0:
            share = min(todo, chunk, budget)
            plan[request["id"]] = share
            budget -= share
    return plan
