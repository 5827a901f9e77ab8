"""Wrong submissions to A6 in the words of students, in a structure of their own; see tests/course/grading/test_naming.py."""


# %% g_admit_all_or_none fails a6.q2.memory is admit_all_or_nobody
# Admits all that wait, or nobody if they do not all fit.
def admit(waiting, running, free, max_running, size):
    order = sorted(w["id"] for w in waiting)
    need = sum(pages(w["prompt"] + w["made"], size) for w in waiting)
    spare = 1 if running or len(waiting) > 1 else 0
    if len(running) + len(waiting) <= max_running and need + spare <= free:
        return order
    return []


# %% g_admit_by_id_as_given fails a6.q2.order is admit_as_listed
# Takes the waiting list in the order it comes in.
def admit(waiting, running, free, max_running, size):
    ids = []
    for request in waiting:
        if len(ids) + len(running) == max_running:
            return ids
        take = pages(request["prompt"] + request["made"], size)
        extra = 1 if ids or running else 0
        if take + extra > free:
            return ids
        free -= take
        ids.append(request["id"])
    return ids


# %% g_admit_counts_running_pages fails a6.q2.memory is admit_subtracts_what_is_held
# Takes the pages of those that run off the free ones.
def admit(waiting, running, free, max_running, size):
    left = free - sum(pages(r["fed"], size) for r in running)
    chosen = []
    for w in sorted(waiting, key=lambda w: w["id"]):
        need = pages(w["prompt"] + w["made"], size)
        alone = not running and not chosen
        if len(running) + len(chosen) >= max_running or left < need + (0 if alone else 1):
            break
        chosen.append(w["id"])
        left -= need
    return chosen


# %% g_gamma_product_of_alphas fails a6.q6.gamma is gamma_product_of_the_alphas
# Multiplies the alphas of all requests.
def best_gamma(alphas, seconds, draft_s, largest):
    joint = 1.0
    for a in alphas:
        joint *= a
    scores = []
    for g in range(largest + 1):
        n = len(alphas) * (g + 1)
        if n > len(seconds):
            break
        scores.append(sum(joint**k for k in range(g + 1)) / (seconds[n - 1] + g * draft_s))
    return scores.index(max(scores)) if scores else 0


# %% g_gamma_row_off_by_one fails a6.q6.gamma is gamma_time_per_row
# Reads the time of one row more.
def best_gamma(alphas, seconds, draft_s, largest):
    best, top = 0, -1.0
    n = len(alphas)
    for g in range(0, largest + 1):
        m = n * (g + 1)
        if m >= len(seconds):
            break
        gain = sum((1 - a ** (g + 1)) / (1 - a) if a != 1 else g + 1 for a in alphas)
        value = gain / (seconds[m] + draft_s * g)
        if value > top:
            best, top = g, value
    return best


# %% g_pages_half_up fails a6.q1.pages is pages_rounded_to_nearest
# Rounds to the nearest whole page.
def pages(slots, size):
    return int(slots / size + 0.5)


# %% g_plan_admits_with_pages_after_decoding fails a6.q5.plan is plan_admits_into_what_is_left
# Admits only into what the running ones leave: their needs are taken off the free pages first.
def schedule(state):
    size, running = state["page_size"], state["running"]
    first = rows(running, state["max_rows"], state["chunk"])
    wanted = sum(pages(r["fed"] + first.get(r["id"], 0), size) - pages(r["fed"], size) for r in running)
    new = admit(state["waiting"], running, state["free"] - wanted, state["max_running"], size)
    active = running + [r for r in state["waiting"] if r["id"] in new]
    plan = rows(active, state["max_rows"], state["chunk"])
    held = {r["id"]: pages(r["fed"], size) for r in active}
    needs = {r["id"]: pages(r["fed"] + plan.get(r["id"], 0), size) - held[r["id"]] for r in active}
    out = preempt(held, needs, state["free"])
    return {"admitted": new, "preempted": out, "rows": {i: n for i, n in plan.items() if i not in out}}


# %% g_plan_needs_without_drafts fails a6.q5.plan is plan_drafts_need_no_memory
# Counts a page only for the newest token of those that decode.
def schedule(state):
    size = state["page_size"]
    new = admit(state["waiting"], state["running"], state["free"], state["max_running"], size)
    everyone = [*state["running"], *(r for r in state["waiting"] if r["id"] in new)]
    given = rows(everyone, state["max_rows"], state["chunk"])
    held, needs = {}, {}
    for r in everyone:
        n = given.get(r["id"], 0)
        if r["prompt"] + r["made"] - r["fed"] == 1:
            n = min(n, 1)
        held[r["id"]] = pages(r["fed"], size)
        needs[r["id"]] = pages(r["fed"] + n, size) - held[r["id"]]
    back = preempt(held, needs, state["free"])
    for i in back:
        given.pop(i, None)
    return {"admitted": new, "preempted": back, "rows": given}


# %% g_plan_rows_before_admission fails a6.q5.plan is plan_admitted_wait_a_step
# Gives rows to those that ran before, and admits afterwards.
def schedule(state):
    size, running = state["page_size"], state["running"]
    given = rows(running, state["max_rows"], state["chunk"])
    held = {r["id"]: pages(r["fed"], size) for r in running}
    needs = {r["id"]: pages(r["fed"] + given.get(r["id"], 0), size) - pages(r["fed"], size) for r in running}
    new = admit(state["waiting"], running, state["free"], state["max_running"], size)
    out = preempt(held, needs, state["free"])
    return {"admitted": new, "preempted": out, "rows": {i: given[i] for i in given if i not in out}}


# %% g_plan_victims_come_back_at_once fails a6.q5.plan is plan_memory_first
# Admits those that were set back again in the same step if there is room.
def schedule(state):
    size = state["page_size"]
    new = admit(state["waiting"], state["running"], state["free"], state["max_running"], size)
    active = state["running"] + [r for r in state["waiting"] if r["id"] in new]
    plan = rows(active, state["max_rows"], state["chunk"])
    held = {r["id"]: pages(r["fed"], size) for r in active}
    needs = {r["id"]: pages(r["fed"] + plan.get(r["id"], 0), size) - held[r["id"]] for r in active}
    out = preempt(held, needs, state["free"])
    out = [i for i in out if i not in new]
    return {"admitted": new, "preempted": out, "rows": {i: n for i, n in plan.items() if i not in out}}


# %% g_preempt_frees_before_needs fails a6.q4.preempt is preempt_counts_the_needs_of_victims
# Stops as soon as somebody has given back as many pages as were missing at first, without the victims' needs.
def preempt(held, needs, free):
    missing = sum(needs.values()) - free
    out = []
    for i in sorted(held, reverse=True):
        if missing <= 0 or len(out) == len(held) - 1:
            break
        out.append(i)
        missing -= held[i]
    return out


# %% g_preempt_only_holders_of_needs fails a6.q4.preempt is preempt_only_those_who_need
# Goes through the requests that need pages, the youngest first.
def preempt(held, needs, free):
    out = []
    wanting = sorted((i for i in needs if needs[i] > 0 and i != min(held)), reverse=True)
    total = sum(needs.values())
    for i in wanting:
        if total <= free:
            break
        total -= needs[i]
        free += held[i]
        out.append(i)
    return out


# %% g_rows_budget_never_negative_floor fails a6.q3.starved is rows_starving_prompt
# Gives the oldest prompt its one row out of the budget only: none if the decoding have used it up.
def rows(running, max_rows, chunk):
    out, left, feeding = {}, max_rows, []
    for r in running:
        missing = r["prompt"] + r["made"] - r["fed"]
        if missing == 1:
            out[r["id"]] = 1 + r["gamma"]
            left -= 1 + r["gamma"]
        else:
            feeding.append((r["id"], missing - 1))
    for number, missing in sorted(feeding):
        if left <= 0:
            break
        out[number] = min(missing, chunk, left)
        left -= out[number]
    return out


# %% g_rows_floor_for_the_shortest fails a6.q3.starved is rows_shortest_prompt_gets_one
# Gives the row that is owed to the prompt that lacks least.
def rows(running, max_rows, chunk):
    lacks = {r["id"]: r["prompt"] + r["made"] - r["fed"] for r in running}
    result = {r["id"]: r["gamma"] + 1 for r in running if lacks[r["id"]] == 1}
    budget = max_rows - sum(result.values())
    prompts = sorted(i for i in lacks if i not in result)
    if budget <= 0 and prompts:
        result[min(prompts, key=lacks.get)] = 1
        return result
    for i in prompts:
        n = min(chunk, lacks[i] - 1, budget)
        if n <= 0:
            break
        result[i] = n
        budget -= n
    return result


# %% g_rows_prompt_only fails a6.q3.again is rows_decode_with_the_prompt_fed
# Says that a request decodes as soon as its prompt is in the cache.
def rows(running, max_rows, chunk):
    plan = {}
    for r in running:
        if r["fed"] >= r["prompt"] - 1 and (r["made"] == 0 or r["fed"] >= r["prompt"]):
            plan[r["id"]] = r["gamma"] + 1
    left = max_rows - sum(plan.values())
    rest = sorted((r for r in running if r["id"] not in plan), key=lambda r: r["id"])
    for k, r in enumerate(rest):
        n = min(chunk, left, r["prompt"] + r["made"] - r["fed"] - 1)
        if k == 0 and n < 1:
            n = 1
        if n < 1:
            break
        plan[r["id"]] = n
        left -= n
    return plan


# %% k_admit_longest_waiting_by_made fails a6.q2.order
# Lets those that have made most go first.
def admit(waiting, running, free, max_running, size):
    chosen = []
    queue = sorted(waiting, key=lambda r: (-r["made"], r["id"]))
    while queue and len(running) + len(chosen) < max_running:
        nxt = queue.pop(0)
        need = pages(nxt["prompt"] + nxt["made"], size)
        if need + (1 if running or chosen else 0) > free:
            break
        free -= need
        chosen.append(nxt["id"])
    return chosen


# %% k_admit_room_for_the_growth fails a6.q2.memory
# Wants the pages of the text and one token more, instead of one page more.
def admit(waiting, running, free, max_running, size):
    ids = []
    for r in sorted(waiting, key=lambda r: r["id"]):
        text = r["prompt"] + r["made"]
        need = pages(text + 1, size)
        if len(running) + len(ids) >= max_running or need > free:
            break
        free -= pages(text, size)
        ids.append(r["id"])
    return ids


# %% k_admit_spare_subtracted fails a6.q2.memory is admit_spare_page_taken
# Takes the spare page away with the others.
def admit(waiting, running, free, max_running, size):
    done = []
    for r in sorted(waiting, key=lambda r: r["id"]):
        cost = pages(r["prompt"] + r["made"], size)
        if len(running) > 0 or len(done) > 0:
            cost += 1
        if cost > free or len(running) + len(done) + 1 > max_running:
            return done
        free = free - cost
        done.append(r["id"])
    return done


# %% k_gamma_accepted_drafts_only fails a6.q6.gamma is gamma_without_the_bonus
# Counts accepted drafts, without the token of the target's own.
def best_gamma(alphas, seconds, draft_s, largest):
    best = (0.0, 0)
    for g in range(largest + 1):
        n = len(alphas) * (g + 1)
        if n > len(seconds):
            break
        tokens = 0.0
        for a in alphas:
            for k in range(1, g + 1):
                tokens += a**k
        speed = tokens / (seconds[n - 1] + g * draft_s)
        if speed > best[0]:
            best = (speed, g)
    return best[1]


# %% k_gamma_each_its_own_optimum fails a6.q6.gamma
# Finds the best number for each text alone and takes their median.
def best_gamma(alphas, seconds, draft_s, largest):
    def alone(a):
        options = range(min(largest, len(seconds) - 1) + 1)
        return max(options, key=lambda g: sum(a**k for k in range(g + 1)) / (seconds[g] + g * draft_s))

    wishes = sorted(alone(a) for a in alphas)
    return wishes[len(wishes) // 2]


# %% k_pages_integer_part_plus_one fails a6.q1.pages is pages_always_one_more
# Adds one to the whole part.
def pages(slots, size):
    full = 0
    while slots >= size:
        slots -= size
        full += 1
    return full + 1


# %% k_plan_free_after_admission fails a6.q5.plan is plan_admitted_take_their_pages_at_once
# Takes the whole text's pages of the admitted off what is free before it looks at memory.
def schedule(state):
    size, free = state["page_size"], state["free"]
    new = admit(state["waiting"], state["running"], free, state["max_running"], size)
    joined = [r for r in state["waiting"] if r["id"] in new]
    free -= sum(pages(r["prompt"] + r["made"], size) for r in joined)
    active = state["running"] + joined
    plan = rows(active, state["max_rows"], state["chunk"])
    held = {r["id"]: pages(r["fed"], size) for r in active}
    needs = {r["id"]: pages(r["fed"] + plan.get(r["id"], 0), size) - held[r["id"]] for r in active}
    gone = preempt(held, needs, free)
    return {"admitted": new, "preempted": gone, "rows": {i: n for i, n in plan.items() if i not in gone}}


# %% k_plan_memory_of_admitted_ignored fails a6.q5.plan is plan_memory_first
# Counts only those that ran before when it looks at memory.
def schedule(state):
    size = state["page_size"]
    new = admit(state["waiting"], state["running"], state["free"], state["max_running"], size)
    taking_part = state["running"] + [r for r in state["waiting"] if r["id"] in new]
    plan = rows(taking_part, state["max_rows"], state["chunk"])
    held, needs = {}, {}
    for r in state["running"]:
        held[r["id"]] = pages(r["fed"], size)
        needs[r["id"]] = pages(r["fed"] + plan.get(r["id"], 0), size) - held[r["id"]]
    gone = preempt(held, needs, state["free"]) if held else []
    return {"admitted": new, "preempted": gone, "rows": {i: n for i, n in plan.items() if i not in gone}}


# %% k_plan_rows_without_admitted_victims fails a6.q5.plan
# Takes those that are set back off the list of the admitted, as if they had never come.
def schedule(state):
    size = state["page_size"]
    new = admit(state["waiting"], state["running"], state["free"], state["max_running"], size)
    active = state["running"] + [r for r in state["waiting"] if r["id"] in new]
    plan = rows(active, state["max_rows"], state["chunk"])
    held = {r["id"]: pages(r["fed"], size) for r in active}
    needs = {r["id"]: pages(r["fed"] + plan.get(r["id"], 0), size) - held[r["id"]] for r in active}
    gone = preempt(held, needs, state["free"])
    return {
        "admitted": [i for i in new if i not in gone],
        "preempted": [i for i in gone if i not in new],
        "rows": {i: n for i, n in plan.items() if i not in gone},
    }


# %% k_preempt_counts_all_needs fails a6.q4.preempt is preempt_counts_the_needs_of_victims
# Leaves the victims' own needs in the sum.
def preempt(held, needs, free):
    total = 0
    for i in needs:
        total += needs[i]
    victims = []
    ids = list(reversed(sorted(held)))
    while total > free and len(ids) > 1:
        youngest = ids.pop(0)
        victims.append(youngest)
        free += held[youngest]
    return victims


# %% k_preempt_oldest_by_arrival_in_dict fails a6.q4.preempt is preempt_as_listed
# Takes the last key of the dictionary for the youngest.
def preempt(held, needs, free):
    order, gone = list(held), []

    def want():
        return sum(needs.get(i, 0) for i in order)

    while len(order) > 1 and want() > free:
        last = order.pop()
        free += held[last]
        gone.append(last)
    return gone


# %% k_preempt_skips_empty_ones fails a6.q4.preempt is preempt_only_who_holds
# Passes over those that hold no page.
def preempt(held, needs, free):
    out = []
    short = sum(needs.values()) - free
    for i in sorted(held, reverse=True)[:-1]:
        if short <= 0:
            break
        if held[i] == 0:
            continue
        out.append(i)
        short -= held[i] + needs.get(i, 0)
    return out


# %% k_rows_decoders_by_budget fails a6.q3.budget is rows_decoding_within_the_budget
# Lets those that decode take part only while the budget lasts.
def rows(running, max_rows, chunk):
    plan, left = {}, max_rows
    by_age = sorted(running, key=lambda r: r["id"])
    for r in by_age:
        if r["prompt"] + r["made"] - r["fed"] == 1 and r["gamma"] + 1 <= left:
            plan[r["id"]] = r["gamma"] + 1
            left -= r["gamma"] + 1
    oldest = True
    for r in by_age:
        lack = r["prompt"] + r["made"] - r["fed"] - 1
        if lack == 0:
            continue
        n = max(min(lack, chunk, left), 1 if oldest else 0)
        oldest = False
        if n > 0:
            plan[r["id"]] = n
            left -= n
    return plan


# %% k_rows_feed_the_newest fails a6.q3.budget is rows_whole_prompt
# Feeds the whole text that is missing.
def rows(running, max_rows, chunk):
    missing = {r["id"]: r["prompt"] + r["made"] - r["fed"] for r in running}
    decode = [r for r in running if missing[r["id"]] == 1]
    feed = sorted((r["id"] for r in running if missing[r["id"]] > 1))
    plan = {r["id"]: r["gamma"] + 1 for r in decode}
    left = max_rows - sum(plan.values())
    for k, i in enumerate(feed):
        n = min(missing[i], chunk, left)
        if n <= 0:
            if k == 0:
                plan[i] = 1
            break
        plan[i] = n
        left -= n
    return plan


# %% k_rows_floor_stops_everything fails a6.q3.starved is rows_every_prompt_gets_one
# Gives every prompt a row, however little is left.
def rows(running, max_rows, chunk):
    plan = {}
    used = 0
    waiting = []
    for r in running:
        rest = r["prompt"] + r["made"] - r["fed"]
        if rest > 1:
            waiting.append((r["id"], rest - 1))
            continue
        plan[r["id"]] = r["gamma"] + 1
        used += plan[r["id"]]
    for i, rest in sorted(waiting):
        n = max(1, min(rest, chunk, max_rows - used))
        plan[i] = n
        used += n
    return plan


# %% n_admit_overtakes fails a6.q2.memory is admit_overtaken
# Skips who does not fit and goes on.
def admit(waiting, running, free, max_running, size):
    out = []
    for r in sorted(waiting, key=lambda r: r["id"]):
        n = pages(r["prompt"] + r["made"], size)
        alone = not running and not out
        if len(running) + len(out) < max_running and n + (0 if alone else 1) <= free:
            out.append(r["id"])
            free -= n
    return out


# %% n_admit_spare_page_always fails a6.q2.memory is admit_spare_page_when_alone
# Wants the one more page of a lonely request too.
def admit(waiting, running, free, max_running, size):
    out = []
    for r in sorted(waiting, key=lambda r: r["id"]):
        n = pages(r["prompt"] + r["made"], size)
        if len(running) + len(out) == max_running or free < n + 1:
            return out
        out.append(r["id"])
        free -= n
    return out


# %% n_admit_without_made fails a6.q2.memory is admit_by_the_prompt_alone
# Counts the prompt and not what was made before a setback.
def admit(waiting, running, free, max_running, size):
    out = []
    queue = sorted(waiting, key=lambda r: r["id"])
    while queue and len(running) + len(out) < max_running:
        r = queue.pop(0)
        n = pages(r["prompt"], size)
        if n + bool(running or out) > free:
            break
        free -= n
        out.append(r["id"])
    return out


# %% n_gamma_drafts_one_more fails a6.q6.gamma
# Charges a draft forward more than it makes.
def best_gamma(alphas, seconds, draft_s, largest):
    best, top = 0, -1.0
    for g in range(largest + 1):
        m = len(alphas) * (g + 1)
        if m > len(seconds):
            break
        time = seconds[m - 1] + (g + 1) * draft_s
        speed = sum(sum(a**k for k in range(g + 1)) for a in alphas) / time
        if speed > top:
            best, top = g, speed
    return best


# %% n_gamma_time_of_one_row_more fails a6.q6.gamma is gamma_time_per_row
# Looks one entry too far in the table of times.
def best_gamma(alphas, seconds, draft_s, largest):
    best, top = 0, -1.0
    for g in range(largest + 1):
        m = len(alphas) * (g + 1)
        if m >= len(seconds):
            break
        speed = sum(sum(a**k for k in range(g + 1)) for a in alphas) / (seconds[m] + g * draft_s)
        if speed > top:
            best, top = g, speed
    return best


# %% n_pages_one_more fails a6.q1.pages is pages_always_one_more
# Adds one page always.
def pages(slots, size):
    return slots // size + 1 if slots else 0


# %% n_preempt_needs_stay fails a6.q4.preempt is preempt_counts_the_needs_of_victims
# Does not strike out what the one set back would have needed.
def preempt(held, needs, free):
    gone, wanted = [], sum(needs.values())
    ids = sorted(held)
    while len(ids) > 1 and wanted > free:
        last = ids.pop()
        gone.append(last)
        free += held[last]
    return gone


# %% n_preempt_the_oldest_too fails a6.q4.preempt is preempt_the_oldest_too
# May set back the oldest.
def preempt(held, needs, free):
    gone = []
    ids = sorted(held)
    while ids and sum(needs.get(i, 0) for i in ids) > free:
        last = ids.pop()
        gone.append(last)
        free += held[last]
    return gone


# %% n_rows_newest_fed fails a6.q3.budget is rows_whole_prompt
# Feeds the newest token of the text too.
def rows(running, max_rows, chunk):
    plan, feeding = {}, []
    for r in running:
        left = r["prompt"] + r["made"] - r["fed"]
        if left == 1:
            plan[r["id"]] = 1 + r["gamma"]
        else:
            feeding.append((r["id"], left))
    budget = max_rows - sum(plan.values())
    for i, (number, left) in enumerate(sorted(feeding)):
        n = min(chunk, left, budget)
        if i == 0 and n < 1:
            n = 1
        if n <= 0:
            break
        plan[number] = n
        budget -= n
    return plan


# %% n_rows_nobody_starves_is_missing fails a6.q3.starved is rows_starving_prompt
# Gives the oldest nothing where the budget is used up.
def rows(running, max_rows, chunk):
    plan, feeding = {}, []
    for r in running:
        left = r["prompt"] + r["made"] - r["fed"]
        if left == 1:
            plan[r["id"]] = 1 + r["gamma"]
        else:
            feeding.append((r["id"], left - 1))
    budget = max_rows - sum(plan.values())
    for number, left in sorted(feeding):
        n = min(chunk, left, budget)
        if n > 0:
            plan[number] = n
            budget -= n
    return plan


# %% n_schedule_pages_of_the_rows fails a6.q5.plan is plan_pages_for_the_rows_alone
# Asks for pages for the rows alone, though the last page may have room.
def schedule(state):
    size = state["page_size"]
    new = admit(state["waiting"], state["running"], state["free"], state["max_running"], size)
    everyone = state["running"] + [r for r in state["waiting"] if r["id"] in new]
    plan = rows(everyone, state["max_rows"], state["chunk"])
    held = {r["id"]: pages(r["fed"], size) for r in everyone}
    needs = {number: pages(count, size) for number, count in plan.items()}
    back = preempt(held, needs, state["free"])
    return {"admitted": new, "preempted": back, "rows": {k: n for k, n in plan.items() if k not in back}}


# %% n_schedule_rows_of_the_old fails a6.q5.plan is plan_admitted_wait_a_step
# Gives rows only to those that ran before.
def schedule(state):
    size = state["page_size"]
    new = admit(state["waiting"], state["running"], state["free"], state["max_running"], size)
    plan = rows(state["running"], state["max_rows"], state["chunk"])
    everyone = state["running"] + [r for r in state["waiting"] if r["id"] in new]
    held = {r["id"]: pages(r["fed"], size) for r in everyone}
    needs = {r["id"]: pages(r["fed"] + plan.get(r["id"], 0), size) - held[r["id"]] for r in everyone}
    back = preempt(held, needs, state["free"])
    return {"admitted": new, "preempted": back, "rows": {k: n for k, n in plan.items() if k not in back}}
