"""Mistakes that students make in A6; minispec/course/grading/catalogue.py says how to read and write them."""


# %% admit_all_or_nobody fails a6.q2.memory
# You admit all that wait or nobody; as long as the next one fits, it is admitted.
def admit(waiting, running, free, max_running, size):
    needed = sum(pages(request["prompt"] + request["made"], size) for request in waiting)
    fits = needed + bool(running or len(waiting) > 1) <= free and len(running) + len(waiting) <= max_running
    return sorted(request["id"] for request in waiting) if fits else []


# %% admit_as_listed fails a6.q2.order in admit
# The waiting list is in any order: whoever came first has the smallest id. One that was set back stands behind younger ones.
# - for request in sorted(waiting, key=lambda request: request["id"]):
# + for request in waiting:

# %% admit_by_the_prompt_alone fails a6.q2.memory in admit
# One that was set back also needs pages for the tokens it had made.
# -     needed = pages(request["prompt"] + request["made"], size)
# +     needed = pages(request["prompt"], size)

# %% admit_everybody_else_waits fails a6.q2.order in admit
# You return who goes on waiting.
# - return admitted
# + return sorted(request["id"] for request in waiting if request["id"] not in admitted)

# %% admit_exactly_full_is_too_full fails a6.q2.memory in admit
# Pages that are exactly enough are enough.
# -     if others >= max_running or needed + (others > 0) > free:
# +     if others >= max_running or needed + (others > 0) >= free:

# %% admit_forgets_the_memory fails a6.q2.memory in admit
# You look at places only; the pages must be free, too.
# -     if others >= max_running or needed + (others > 0) > free:
# +     if others >= max_running:

# %% admit_forgets_who_runs fails a6.q2.order in admit
# Those that run already have places, too: max_running counts them.
# -     if others >= max_running or needed + (others > 0) > free:
# +     if len(admitted) >= max_running or needed + (others > 0) > free:

# %% admit_forgets_whom_it_admits fails a6.q2.order in admit
# Those you have just admitted take places, too.
# -     if others >= max_running or needed + (others > 0) > free:
# +     if len(running) >= max_running or needed + (others > 0) > free:

# %% admit_ignores_the_places fails a6.q2.order in admit
# No more than max_running may run, however much memory there is.
# -     if others >= max_running or needed + (others > 0) > free:
# +     if needed + (others > 0) > free:

# %% admit_largest_that_fit fails a6.q2.memory in admit
# You look for those that fit. The oldest goes first, and if it does not fit, nobody does.
# - for request in sorted(waiting, key=lambda request: request["id"]):
# + for request in sorted(
# +     waiting, key=lambda request: (pages(request["prompt"] + request["made"], size) > free, request["id"])
# + ):

# %% admit_number fails a6.q2.order in admit
# Return which are admitted, not how many.
# - return admitted
# + return len(admitted)

# %% admit_one_after_another_for_nothing fails a6.q2.memory in admit
# Those that are admitted together share what is free: take their pages off, one after the other.
# -     free -= needed

# %% admit_one_at_a_time fails a6.q2.order in admit
# You admit one request a step; all that fit get a place.
# -     free -= needed
# +     break

# %% admit_one_too_few fails a6.q2.order in admit
# max_running may run; you stop one short.
# -     if others >= max_running or needed + (others > 0) > free:
# +     if others >= max_running - 1 or needed + (others > 0) > free:

# %% admit_one_too_many fails a6.q2.order in admit
# max_running may run, not one more.
# -     if others >= max_running or needed + (others > 0) > free:
# +     if others > max_running or needed + (others > 0) > free:

# %% admit_only_into_an_empty_batch fails a6.q2.order in admit
# You wait until nobody runs. That is a fixed batch; here requests join between any two steps.
# - admitted = []
# + admitted = []
# + if running:
# +     return admitted

# %% admit_overtaken fails a6.q2.memory in admit
# Somebody small overtakes one that does not fit. While small ones keep coming, it never gets its pages: stop at the first that does not fit.
# -         break
# +         continue

# %% admit_requests fails a6.q2.order in admit
# Return ids, not whole requests.
# -     admitted.append(request["id"])
# +     admitted.append(request)

# %% admit_shortest_first fails a6.q2.order in admit
# You admit the shortest prompts first: long ones wait for as long as short ones keep coming.
# - for request in sorted(waiting, key=lambda request: request["id"]):
# + for request in sorted(waiting, key=lambda request: request["prompt"]):

# %% admit_slots_for_pages fails a6.q2.memory in admit
# You compare slots with pages.
# -     needed = pages(request["prompt"] + request["made"], size)
# +     needed = request["prompt"] + request["made"]

# %% admit_spare_page_for_each fails a6.q2.memory in admit
# One spare page, not one for everyone who runs.
# -     if others >= max_running or needed + (others > 0) > free:
# +     if others >= max_running or needed + others > free:

# %% admit_spare_page_for_old_ones_only fails a6.q2.memory in admit
# Those that were just admitted grow, too: for the second one, one more page must be free.
# -     if others >= max_running or needed + (others > 0) > free:
# +     if others >= max_running or needed + bool(running) > free:

# %% admit_spare_page_taken fails a6.q2.memory in admit
# The spare page must be free, but nobody takes it: the next one may count on it, too.
# -     free -= needed
# +     free -= needed + (others > 0)

# %% admit_spare_page_when_alone fails a6.q2.memory in admit
# Who is alone needs no spare page.
# -     if others >= max_running or needed + (others > 0) > free:
# +     if others >= max_running or needed + 1 > free:


# %% admit_subtracts_what_is_held fails a6.q2.memory
# You take the pages of those that run off the free ones; free pages are those that nobody holds.
def admit(waiting, running, free, max_running, size, right=admit):
    return right(waiting, running, free - sum(pages(request["fed"], size) for request in running), max_running, size)


# %% admit_whole_prompt_later fails a6.q2.memory in admit
# A request needs the pages for its whole text to be free, not only one to begin with.
# -     needed = pages(request["prompt"] + request["made"], size)
# +     needed = 1

# %% admit_without_the_spare_page fails a6.q2.memory in admit
# One page more must be free where others run: they grow.
# -     if others >= max_running or needed + (others > 0) > free:
# +     if others >= max_running or needed > free:

# %% admit_youngest_first fails a6.q2.order in admit
# You admit the youngest first.
# - for request in sorted(waiting, key=lambda request: request["id"]):
# + for request in sorted(waiting, key=lambda request: -request["id"]):

# %% gamma_all_accepted fails a6.q6.gamma in best_gamma
# A draft counts only if all before it were accepted: alpha^k, not k alpha.
# -     tokens = sum(alpha**k for alpha in alphas for k in range(gamma + 1))
# +     tokens = sum(1 + gamma * alpha for alpha in alphas)


# %% gamma_always_largest fails a6.q6.gamma
# Long drafts cost more than they bring; compare them.
def best_gamma(alphas, seconds, draft_s, largest):
    return largest


# %% gamma_beyond_the_table fails a6.q6.gamma in best_gamma
# Nothing is known of more rows than the table has; they are not asked for.
# -     if num_rows > len(seconds):
# -         break
# -     tokens = sum(alpha**k for alpha in alphas for k in range(gamma + 1))
# -     found = tokens / (seconds[num_rows - 1] + gamma * draft_s)
# +     tokens = sum(alpha**k for alpha in alphas for k in range(gamma + 1))
# +     found = tokens / (seconds[min(num_rows, len(seconds)) - 1] + gamma * draft_s)

# %% gamma_costs_flat fails a6.q6.gamma in best_gamma
# Forwards over more rows take longer.
# -     found = tokens / (seconds[num_rows - 1] + gamma * draft_s)
# +     found = tokens / (seconds[len(alphas) - 1] + gamma * draft_s)

# %% gamma_drafts_are_free fails a6.q6.gamma in best_gamma
# The draft's forwards take time, too.
# -     found = tokens / (seconds[num_rows - 1] + gamma * draft_s)
# +     found = tokens / (seconds[num_rows - 1])

# %% gamma_drafts_for_each_request fails a6.q6.gamma in best_gamma
# One forward of the draft model serves the whole batch: gamma of them, however many requests there are.
# -     found = tokens / (seconds[num_rows - 1] + gamma * draft_s)
# +     found = tokens / (seconds[num_rows - 1] + len(alphas) * gamma * draft_s)

# %% gamma_largest_left_out fails a6.q6.gamma in best_gamma
# `largest` itself may be drafted.
# - for gamma in range(largest + 1):
# + for gamma in range(largest):

# %% gamma_largest_of_equals fails a6.q6.gamma in best_gamma
# Of equally good numbers the smallest.
# -     if found > rate:
# +     if found >= rate:

# %% gamma_most_tokens fails a6.q6.gamma in best_gamma
# Tokens per second, not tokens per step.
# -     found = tokens / (seconds[num_rows - 1] + gamma * draft_s)
# +     found = tokens

# %% gamma_of_one_text fails a6.q6.gamma in best_gamma
# Each request has gamma + 1 rows in the target's forward; you count those of one.
# -     num_rows = len(alphas) * (gamma + 1)
# +     num_rows = gamma + 1

# %% gamma_of_the_luckiest fails a6.q6.gamma in best_gamma
# All requests share the number: sum the tokens of all.
# -     tokens = sum(alpha**k for alpha in alphas for k in range(gamma + 1))
# +     tokens = sum(max(alphas) ** k for k in range(gamma + 1)) * len(alphas)

# %% gamma_of_the_mean fails a6.q6.gamma in best_gamma
# The tokens of the mean acceptance are not the mean of the tokens.
# -     tokens = sum(alpha**k for alpha in alphas for k in range(gamma + 1))
# +     tokens = sum((sum(alphas) / len(alphas)) ** k for k in range(gamma + 1)) * len(alphas)

# %% gamma_one_draft_forward fails a6.q6.gamma in best_gamma
# gamma forwards of the draft model, one after the other.
# -     found = tokens / (seconds[num_rows - 1] + gamma * draft_s)
# +     found = tokens / (seconds[num_rows - 1] + (gamma > 0) * draft_s)


# %% gamma_product_of_the_alphas fails a6.q6.gamma
# You multiply the alphas of all requests; each request's drafts are accepted on their own: sum the requests' tokens.
def best_gamma(alphas, seconds, draft_s, largest):
    joint, best, rate = 1.0, 0, 0.0
    for alpha in alphas:
        joint *= alpha
    for gamma in range(largest + 1):
        num_rows = len(alphas) * (gamma + 1)
        if num_rows > len(seconds):
            break
        found = sum(joint**k for k in range(gamma + 1)) / (seconds[num_rows - 1] + gamma * draft_s)
        if found > rate:
            best, rate = gamma, found
    return best


# %% gamma_rows_without_the_newest fails a6.q6.gamma in best_gamma
# gamma + 1 rows for each request: the newest token is one of them.
# -     num_rows = len(alphas) * (gamma + 1)
# +     num_rows = max(1, len(alphas) * gamma)

# %% gamma_shortest_step fails a6.q6.gamma in best_gamma
# Tokens per second, not the shortest step.
# -     found = tokens / (seconds[num_rows - 1] + gamma * draft_s)
# +     found = 1.0 / (seconds[num_rows - 1] + gamma * draft_s)

# %% gamma_stops_at_the_first_loss fails a6.q6.gamma in best_gamma
# A longer draft may pay again: costs have steps. Try all numbers.
# -         best, rate = gamma, found
# +         best, rate = gamma, found
# +     else:
# +         break

# %% gamma_time_per_row fails a6.q6.gamma in best_gamma
# The forward over m rows is entry m - 1.
# -     found = tokens / (seconds[num_rows - 1] + gamma * draft_s)
# +     found = tokens / (seconds[min(num_rows, len(seconds) - 1)] + gamma * draft_s)

# %% gamma_tokens_less_costs fails a6.q6.gamma in best_gamma
# Tokens per second: a ratio, not a difference.
# -     found = tokens / (seconds[num_rows - 1] + gamma * draft_s)
# +     found = tokens / (seconds[num_rows - 1] + gamma * draft_s)
# +     found = tokens - seconds[num_rows - 1] - gamma * draft_s

# %% gamma_without_the_bonus fails a6.q6.gamma in best_gamma
# A step also yields a token of the target's own: 1 + alpha + ... + alpha^gamma.
# -     tokens = sum(alpha**k for alpha in alphas for k in range(gamma + 1))
# +     tokens = sum(alpha**k for alpha in alphas for k in range(1, gamma + 1)) or 1e-9

# %% gamma_zero_left_out fails a6.q6.gamma in best_gamma
# Not to draft may be best.
# - best, rate = 0, 0.0
# - for gamma in range(largest + 1):
# + best, rate = 1, 0.0
# + for gamma in range(1, largest + 1):

# %% pages_always_one_more fails a6.q1.pages in pages
# A text that fills its last page exactly needs no other: you count one too many.
# - return -(-slots // size)
# + return slots // size + 1

# %% pages_at_least_one fails a6.q1.pages in pages
# Nothing needs no page.
# - return -(-slots // size)
# + return max(1, -(-slots // size))

# %% pages_in_slots fails a6.q1.pages in pages
# Pages, not the slots in them.
# - return -(-slots // size)
# + return -(-slots // size) * size

# %% pages_not_whole fails a6.q1.pages in pages
# Pages are whole: you return a fraction.
# - return -(-slots // size)
# + return slots / size

# %% pages_of_sixteen fails a6.q1.pages in pages
# The page size is an argument; you count with 16.
# - return -(-slots // size)
# + return -(-slots // 16)

# %% pages_rounded_down fails a6.q1.pages in pages
# A page that is partly filled is a page: you round down.
# - return -(-slots // size)
# + return slots // size

# %% pages_rounded_to_nearest fails a6.q1.pages in pages
# You round to the nearest number; any rest needs a page.
# - return -(-slots // size)
# + return round(slots / size)


# %% plan_admits_into_what_is_left fails a6.q5.plan
# You admit into what those that run leave over in this step; admission looks at the free pages as they are.
def schedule(state, right=schedule, admit_right=admit):
    size = state["page_size"]
    given = rows(state["running"], state["max_rows"], state["chunk"])
    taken = sum(pages(one["fed"] + given.get(one["id"], 0), size) - pages(one["fed"], size) for one in state["running"])
    admitted = admit_right(state["waiting"], state["running"], state["free"] - taken, state["max_running"], size)
    plan = right(state | {"waiting": [one for one in state["waiting"] if one["id"] in admitted], "free": 10**9})
    running = state["running"] + [one for one in state["waiting"] if one["id"] in admitted]
    held = {one["id"]: pages(one["fed"], size) for one in running}
    needs = {one["id"]: pages(one["fed"] + plan["rows"].get(one["id"], 0), size) - held[one["id"]] for one in running}
    victims = preempt(held, needs, state["free"])
    kept = {number: count for number, count in plan["rows"].items() if number not in victims}
    return {"admitted": admitted, "preempted": victims, "rows": kept}


# %% plan_admits_when_nobody_runs fails a6.q5.run in schedule
# Requests join while others run: that is the point of continuous batching.
# - admitted = admit(state["waiting"], state["running"], free, state["max_running"], size)
# + admitted = [] if state["running"] else admit(state["waiting"], state["running"], free, state["max_running"], size)

# %% plan_admitted_take_their_pages_at_once fails a6.q5.plan in schedule
# Free pages are those that nobody holds; who was just admitted takes its own as it is fed.
# -     for request in running
# - }
# +     for request in running
# + }
# + free -= sum(pages(request["prompt"] + request["made"], size) for request in running if request["id"] in admitted)

# %% plan_admitted_wait_a_step fails a6.q5.plan in schedule
# Those that are admitted run in this step already.
# - running = state["running"] + [request for request in state["waiting"] if request["id"] in admitted]
# + running = state["running"]

# %% plan_drafts_need_no_memory fails a6.q5.plan in schedule
# Drafts are in the cache, too, as long as the step lasts.
# -     request["id"]: pages(request["fed"] + plan.get(request["id"], 0), size) - held[request["id"]]
# +     request["id"]: pages(
# +         request["fed"]
# +         + min(
# +             plan.get(request["id"], 0), 1 if request["prompt"] + request["made"] - request["fed"] == 1 else 10**6
# +         ),
# +         size,
# +     )
# +     - held[request["id"]]

# %% plan_drops_who_is_set_back fails a6.q5.run in schedule
# Who was set back is admitted again, in its old place in the order.
# - admitted = admit(state["waiting"], state["running"], free, state["max_running"], size)
# + admitted = admit(
# +     [request for request in state["waiting"] if not request["made"]],
# +     state["running"],
# +     free,
# +     state["max_running"],
# +     size,
# + )

# %% plan_fills_up_after_setting_back fails a6.q5.plan in schedule
# Nobody is admitted into the pages that were just given back, before the next step.
# - preempted = preempt(held, needs, free)
# + preempted = preempt(held, needs, free)
# + free += sum(held[number] for number in preempted) - sum(
# +     count for number, count in needs.items() if number not in preempted
# + )
# + left = [request for request in state["waiting"] if request["id"] not in admitted]
# + left += [request | {"fed": 0} for request in running if request["id"] in preempted]
# + staying = [request for request in running if request["id"] not in preempted]
# + admitted = admitted + (admit(left, staying, free, state["max_running"], size) if preempted else [])

# %% plan_holds_the_text fails a6.q5.plan in schedule
# You take a request for the owner of the pages of its whole text; it holds those of what is fed, and needs more as
# it goes on.
# - held = {request["id"]: pages(request["fed"], size) for request in running}
# - needs = {
# -     request["id"]: pages(request["fed"] + plan.get(request["id"], 0), size) - held[request["id"]]
# + held = {request["id"]: pages(request["prompt"] + request["made"], size) for request in running}
# + needs = {
# +     request["id"]: max(0, pages(request["fed"] + plan.get(request["id"], 0), size) - held[request["id"]])


# %% plan_makes_room_first fails a6.q5.plan
# You make room before you admit; first requests are admitted, then rows are given, then memory is looked at.
def schedule(state):
    size, free = state["page_size"], state["free"]
    running = state["running"]
    plan = rows(running, state["max_rows"], state["chunk"])
    held = {request["id"]: pages(request["fed"], size) for request in running}
    needs = {
        request["id"]: pages(request["fed"] + plan.get(request["id"], 0), size) - held[request["id"]]
        for request in running
    }
    preempted = preempt(held, needs, free)
    kept = [request for request in running if request["id"] not in preempted]
    free += sum(held[number] for number in preempted)
    free -= sum(count for number, count in needs.items() if number not in preempted)
    admitted = admit(state["waiting"], kept, free, state["max_running"], size)
    kept = kept + [request for request in state["waiting"] if request["id"] in admitted]
    return {"admitted": admitted, "preempted": preempted, "rows": rows(kept, state["max_rows"], state["chunk"])}


# %% plan_memory_first fails a6.q5.plan in schedule
# First requests are admitted, then memory is looked at: those just admitted are the first to make room.
# - held = {request["id"]: pages(request["fed"], size) for request in running}
# - needs = {
# -     request["id"]: pages(request["fed"] + plan.get(request["id"], 0), size) - held[request["id"]]
# -     for request in running
# + held = {request["id"]: pages(request["fed"], size) for request in state["running"]}
# + needs = {
# +     request["id"]: pages(request["fed"] + plan.get(request["id"], 0), size) - held[request["id"]]
# +     for request in state["running"]

# %% plan_never_admits fails a6.q5.plan in schedule
# Those that wait have to be admitted.
# - admitted = admit(state["waiting"], state["running"], free, state["max_running"], size)
# + admitted = []

# %% plan_never_sets_back fails a6.q5.plan in schedule
# Somebody has to make room where pages run out.
# - preempted = preempt(held, needs, free)
# + preempted = []

# %% plan_one_page_each fails a6.q5.plan in schedule
# Rows may need more than one page, or none: count the pages of `fed` and its rows.
# - needs = {
# -     request["id"]: pages(request["fed"] + plan.get(request["id"], 0), size) - held[request["id"]]
# -     for request in running
# - }
# + needs = {request["id"]: 1 for request in running}

# %% plan_pages_for_the_rows_alone fails a6.q5.plan in schedule
# The last page of a text may have room for the rows: count pages for all slots, not for the rows by themselves.
# - needs = {
# -     request["id"]: pages(request["fed"] + plan.get(request["id"], 0), size) - held[request["id"]]
# -     for request in running
# - }
# + needs = {request["id"]: pages(plan.get(request["id"], 0), size) for request in running}

# %% plan_pages_of_the_text fails a6.q5.plan in schedule
# A request holds pages for what is fed, not for its whole text.
# - held = {request["id"]: pages(request["fed"], size) for request in running}
# - needs = {
# -     request["id"]: pages(request["fed"] + plan.get(request["id"], 0), size) - held[request["id"]]
# + held = {request["id"]: pages(request["prompt"] + request["made"], size) for request in running}
# + needs = {
# +     request["id"]: pages(request["prompt"] + request["made"] + plan.get(request["id"], 0), size)
# +     - held[request["id"]]

# %% plan_rows_given_again fails a6.q5.plan in schedule
# Nobody gets other rows because somebody was set back.
# -     "rows": {number: count for number, count in plan.items() if number not in preempted},
# +     "rows": rows(
# +         [request for request in running if request["id"] not in preempted], state["max_rows"], state["chunk"]
# +     ),

# %% plan_set_back_wait_behind fails a6.q5.run in schedule
# Who was set back keeps its old place in the order; you let those that came later go first.
# - admitted = admit(state["waiting"], state["running"], free, state["max_running"], size)
# + fresh = [request for request in state["waiting"] if not request["made"]]
# + admitted = admit(fresh or state["waiting"], state["running"], free, state["max_running"], size)

# %% plan_victims_keep_rows fails a6.q5.plan in schedule
# Who is set back gets no rows in this step.
# -     "rows": {number: count for number, count in plan.items() if number not in preempted},
# +     "rows": {number: count for number, count in plan.items()},

# %% preempt_as_listed fails a6.q4.preempt in preempt
# The dictionary is in any order; the youngest has the largest id.
# - for number in sorted(held, reverse=True)[:-1]:
# + for number in list(held)[::-1][:-1]:

# %% preempt_by_each_need fails a6.q4.preempt in preempt
# All needs together must fit, not each by itself.
# -     if sum(needs.get(one, 0) for one in held if one not in victims) <= free:
# +     if max(needs.get(one, 0) for one in held if one not in victims) <= free:

# %% preempt_counts_the_needs_of_victims fails a6.q4.preempt in preempt
# Who is set back needs nothing in this step any more.
# -     if sum(needs.get(one, 0) for one in held if one not in victims) <= free:
# +     if sum(needs.get(one, 0) for one in held) <= free:

# %% preempt_everybody_but_the_oldest fails a6.q4.preempt in preempt
# No more than needed: stop as soon as the others have their pages.
# -     if sum(needs.get(one, 0) for one in held if one not in victims) <= free:
# +     if sum(needs.values()) <= (free if not victims else -1):

# %% preempt_forgets_what_is_given_back fails a6.q4.preempt in preempt
# Who is set back gives its pages back: fewer have to go.
# -     free += held[number]

# %% preempt_largest_first fails a6.q4.preempt in preempt
# The youngest makes room, not whoever holds most.
# - for number in sorted(held, reverse=True)[:-1]:
# + for number in sorted(sorted(held)[1:], key=lambda number: held[number], reverse=True):

# %% preempt_largest_need_first fails a6.q4.preempt in preempt
# The youngest makes room, not whoever needs most.
# - for number in sorted(held, reverse=True)[:-1]:
# + for number in sorted(sorted(held)[1:], key=lambda number: -needs.get(number, 0)):


# %% preempt_needs_of_everybody fails a6.q4.preempt
# Who needs no page may be missing in `needs`; you look it up and raise an error.
def preempt(held, needs, free):
    victims, wanted = [], sum(needs[number] for number in held)
    for number in sorted(held, reverse=True)[:-1]:
        if wanted <= free:
            break
        victims.append(number)
        free += held[number]
        wanted -= needs[number]
    return victims


# %% preempt_nobody fails a6.q4.preempt
# Somebody has to make room where pages run out.
def preempt(held, needs, free):
    return []


# %% preempt_oldest_first fails a6.q4.preempt in preempt
# The youngest makes room, not the oldest: who came first ends first.
# - for number in sorted(held, reverse=True)[:-1]:
# + for number in sorted(held)[:-1]:

# %% preempt_one_only fails a6.q4.preempt in preempt
# One may not be enough: go on until the others have what they need.
# - return victims
# + return victims[:1]

# %% preempt_one_too_many fails a6.q4.preempt in preempt
# Pages that are exactly enough are enough.
# -     if sum(needs.get(one, 0) for one in held if one not in victims) <= free:
# +     if sum(needs.get(one, 0) for one in held if one not in victims) < free:

# %% preempt_only_those_who_need fails a6.q4.preempt in preempt
# Also who needs nothing itself makes room, if it is the youngest.
# - for number in sorted(held, reverse=True)[:-1]:
# + for number in sorted((number for number in held if number in needs), reverse=True)[:-1]:

# %% preempt_only_who_holds fails a6.q4.preempt in preempt
# Who holds no pages, but needs some, makes room, too: its needs go.
# - for number in sorted(held, reverse=True)[:-1]:
# + for number in [number for number in sorted(held, reverse=True)[:-1] if held[number]]:

# %% preempt_smallest_first fails a6.q4.preempt in preempt
# The youngest makes room, not whoever holds least.
# - for number in sorted(held, reverse=True)[:-1]:
# + for number in sorted(sorted(held)[1:], key=lambda number: held[number]):

# %% preempt_sorted fails a6.q4.preempt in preempt
# In the order in which they are set back: the youngest first.
# - return victims
# + return sorted(victims)

# %% preempt_the_oldest_too fails a6.q4.preempt in preempt
# The oldest is never set back, or nobody would ever end.
# - for number in sorted(held, reverse=True)[:-1]:
# + for number in sorted(held, reverse=True):

# %% preempt_until_somebody_fits fails a6.q4.preempt in preempt
# All the others must get their pages, not only the oldest.
# -     if sum(needs.get(one, 0) for one in held if one not in victims) <= free:
# +     if needs.get(min(held), 0) <= free:

# %% preempt_who_stays fails a6.q4.preempt in preempt
# Return who makes room, not who stays.
# - return victims
# + return sorted(number for number in held if number not in victims)

# %% rows_all_again_in_one_go fails a6.q3.again in rows
# Also a text that is fed again is fed in chunks, within the budget.
# -     count = min(chunk, lacking[number] - 1, left)
# +     made = {request["id"]: request["made"] for request in running}[number]
# +     count = lacking[number] - 1 if made else min(chunk, lacking[number] - 1, left)

# %% rows_budget_per_prompt fails a6.q3.budget in rows
# The budget is for all together: take off what each prompt gets.
# -     left -= count

# %% rows_decode_after_the_prompt fails a6.q3.again in rows
# After it was set back, a request is fed its prompt and the tokens it had made, before it decodes.
# - lacking = {request["id"]: request["prompt"] + request["made"] - request["fed"] for request in running}
# + lacking = {request["id"]: max(1, request["prompt"] - request["fed"]) for request in running}

# %% rows_decode_once_something_was_made fails a6.q3.again in rows
# A request that has made tokens does not always decode: after it was set back it has to be fed again.
# - plan = {request["id"]: request["gamma"] + 1 for request in running if lacking[request["id"]] == 1}
# + plan = {
# +     request["id"]: request["gamma"] + 1 for request in running if lacking[request["id"]] == 1 or request["made"]
# + }

# %% rows_decode_with_the_prompt_fed fails a6.q3.again in rows
# You say a request decodes once its prompt is fed; one that was set back has to be fed the tokens it had made, too.
# - plan = {request["id"]: request["gamma"] + 1 for request in running if lacking[request["id"]] == 1}
# + decoding = [one["id"] for one in running if one["fed"] >= one["prompt"] - (one["made"] == 0)]
# + plan = {request["id"]: request["gamma"] + 1 for request in running if request["id"] in decoding}

# %% rows_decoding_is_free fails a6.q3.budget in rows
# The rows of those that decode count against the budget.
# - left = max_rows - sum(plan.values())
# + left = max_rows

# %% rows_decoding_within_the_budget fails a6.q3.starved in rows
# Whoever decodes takes part, whatever the budget is; you leave some out.
# - plan = {request["id"]: request["gamma"] + 1 for request in running if lacking[request["id"]] == 1}
# - left = max_rows - sum(plan.values())
# - for place, number in enumerate(sorted(number for number in lacking if number not in plan)):
# + plan, left = {}, max_rows
# + for request in sorted(running, key=lambda request: request["id"]):
# +     if lacking[request["id"]] == 1 and request["gamma"] + 1 <= left:
# +         plan[request["id"]] = request["gamma"] + 1
# +         left -= request["gamma"] + 1
# + for place, number in enumerate(sorted(number for number in lacking if lacking[number] > 1)):

# %% rows_drafts_cut_to_the_budget fails a6.q3.starved in rows
# Whoever decodes has all of its rows; the budget is for prompts.
# - plan = {request["id"]: request["gamma"] + 1 for request in running if lacking[request["id"]] == 1}
# + plan = {request["id"]: min(request["gamma"] + 1, max_rows) for request in running if lacking[request["id"]] == 1}

# %% rows_drafts_only fails a6.q3.budget in rows
# Who decodes has its newest token in the forward besides the drafts: gamma + 1 rows.
# - plan = {request["id"]: request["gamma"] + 1 for request in running if lacking[request["id"]] == 1}
# + plan = {request["id"]: request["gamma"] for request in running if lacking[request["id"]] == 1}

# %% rows_equal_shares fails a6.q3.budget in rows
# The oldest prompt gets what it can use; you share the budget equally.
# -     count = min(chunk, lacking[number] - 1, left)
# +     count = min(chunk, lacking[number] - 1, max(0, left) // (len(lacking) - len(plan)))

# %% rows_every_prompt_gets_one fails a6.q3.starved in rows
# Only the oldest prompt gets a row where there is none left.
# -     if place == 0:
# -         count = max(1, count)
# +     count = max(1, count)

# %% rows_first_listed_gets_one fails a6.q3.starved in rows
# The *oldest* prompt gets a row where none is left, not the first one of the list.
# -     if place == 0:
# +     if number == next(one for one in lacking if one not in plan or one == number):

# %% rows_made_tokens_only fails a6.q3.again in rows
# After it was set back, a request lacks its prompt, too, not only what it had made.
# - lacking = {request["id"]: request["prompt"] + request["made"] - request["fed"] for request in running}
# + lacking = {
# +     request["id"]: (request["made"] or request["prompt"]) - request["fed"]
# +     if request["fed"] < (request["made"] or request["prompt"])
# +     else 1
# +     for request in running
# + }

# %% rows_one_chunk_for_all fails a6.q3.budget in rows
# Each prompt may get a chunk; you share one among them.
# -     left -= count
# +     left -= count
# +     chunk -= count

# %% rows_one_prompt_a_step fails a6.q3.budget in rows
# Several prompts may be fed in a step, as far as the budget goes.
# -     left -= count
# +     break

# %% rows_pairs fails a6.q3.budget in rows
# A dictionary from id to rows.
# - return plan
# + return sorted(plan.items())

# %% rows_prompts_as_listed fails a6.q3.budget in rows
# The list is in any order: the oldest prompt goes first.
# - for place, number in enumerate(sorted(number for number in lacking if number not in plan)):
# + for place, number in enumerate([number for number in lacking if number not in plan]):


# %% rows_prompts_first fails a6.q3.budget
# Whoever decodes comes first: a long prompt must not make the others wait.
def rows(running, max_rows, chunk):
    plan, left = {}, max_rows
    for request in sorted(running, key=lambda request: request["id"]):
        lacks = request["prompt"] + request["made"] - request["fed"]
        count = min(chunk, lacks - 1, left)
        if lacks > 1 and count > 0:
            plan[request["id"]] = count
            left -= count
    for request in running:
        lacks = request["prompt"] + request["made"] - request["fed"]
        if lacks == 1 and request["gamma"] + 1 <= left:
            plan[request["id"]] = request["gamma"] + 1
            left -= request["gamma"] + 1
    return plan


# %% rows_shortest_prompt_gets_one fails a6.q3.starved
# The *oldest* prompt gets a row where none is left, not the one that lacks least.
def rows(running, max_rows, chunk):
    lacking = {request["id"]: request["prompt"] + request["made"] - request["fed"] for request in running}
    plan = {request["id"]: request["gamma"] + 1 for request in running if lacking[request["id"]] == 1}
    left = max_rows - sum(plan.values())
    prompts = sorted(number for number in lacking if number not in plan)
    if left < 1 and prompts:
        return plan | {min(prompts, key=lambda number: lacking[number]): 1}
    for number in prompts:
        if left > 0:
            plan[number] = min(chunk, lacking[number] - 1, left)
            left -= plan[number]
    return plan


# %% rows_starving_prompt fails a6.q3.starved in rows
# Under load no prompt ever goes on. The oldest one gets at least one row.
# -     if place == 0:
# -         count = max(1, count)

# %% rows_starving_prompt_gets_a_chunk fails a6.q3.starved in rows
# Where no row is left, the oldest prompt gets one row, not a whole chunk.
# -         count = max(1, count)
# +         count = count if count > 0 else min(chunk, lacking[number] - 1)

# %% rows_whole_chunks_only fails a6.q3.budget in rows
# Where the budget ends, the last prompt gets the rest, not nothing.
# -     if count < 1:
# +     if count < min(chunk, lacking[number] - 1) and place > 0:

# %% rows_whole_prompt fails a6.q3.budget in rows
# The newest token of a text is fed when the request decodes: a prompt is fed up to the one before.
# -     count = min(chunk, lacking[number] - 1, left)
# +     count = min(chunk, lacking[number], left)

# %% rows_without_a_budget fails a6.q3.budget in rows
# Prompts share what the budget leaves.
# -     count = min(chunk, lacking[number] - 1, left)
# +     count = min(chunk, lacking[number] - 1)

# %% rows_without_a_chunk fails a6.q3.budget in rows
# No more than `chunk` tokens of a prompt a step.
# -     count = min(chunk, lacking[number] - 1, left)
# +     count = min(lacking[number] - 1, left)

# %% rows_without_drafts fails a6.q3.budget in rows
# Who decodes has its drafts in the forward, too: gamma + 1 rows.
# - plan = {request["id"]: request["gamma"] + 1 for request in running if lacking[request["id"]] == 1}
# + plan = {request["id"]: 1 for request in running if lacking[request["id"]] == 1}

# %% rows_youngest_prompt_first fails a6.q3.budget in rows
# The oldest prompt goes first, not the youngest.
# - for place, number in enumerate(sorted(number for number in lacking if number not in plan)):
# + for place, number in enumerate(sorted((number for number in lacking if number not in plan), reverse=True)):

# %% rows_zeros_listed fails a6.q3.budget in rows
# Leave requests without rows out.
# -     if count < 1:
# -         break
# -     plan[number] = count
# +     plan[number] = max(0, count)


# %% pages_for_small_sizes fails a6.q1.pages in pages
# You add almost 1 and cut off: a rest of one slot in a large page is less than what you leave out. Round up in whole numbers.
# - return -(-slots // size)
# + return int(slots / size + 0.99)

# %% admit_without_the_newest fails a6.q2.memory in admit
# You leave the newest token out of what a request needs; its text so far is the prompt and all that was made.
# -     needed = pages(request["prompt"] + request["made"], size)
# +     needed = pages(max(request["prompt"] + request["made"] - 1, 0), size)

# %% rows_floor_for_the_first_admitted fails a6.q3.starved in rows
# The one row that nobody may be denied goes to the oldest of those being fed; you grant it only if the oldest of all is one of them.
# -     if place == 0:
# +     if place == 0 and number == min(lacking):

# %% rows_drafts_outside_the_budget fails a6.q3.budget in rows
# Drafts are rows too: you take only the newest tokens out of the budget.
# - left = max_rows - sum(plan.values())
# + left = max_rows - len(plan)
