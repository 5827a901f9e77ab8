"""Wrong submissions to A4 in the words of students, in a structure of their own; see tests/course/grading/test_naming.py."""


# %% g_commit_each_eos fails a4.q2.block is block_one_eos_after_another
# Looks for the eos tokens in their own order, and cuts at the first that is found.
def commit(block, num_generated, max_tokens, eos):
    for end in eos:
        if end in block:
            kept = block[: block.index(end) + 1]
            if num_generated + len(kept) <= max_tokens:
                return kept, "eos"
    kept = block[: max_tokens - num_generated]
    return kept, "length" if num_generated + len(kept) == max_tokens else None


# %% g_commit_slices_first fails a4.q2.block is block_length_once_cut
# Cuts the block to the room, and says "length" whenever it had to, also where an eos comes earlier.
def commit(block, num_generated, max_tokens, eos):
    room = max_tokens - num_generated
    reason = None
    if len(block) >= room:
        block, reason = block[:room], "length"
    for i, token in enumerate(block):
        if token in eos:
            return block[: i + 1], reason or "eos"
    return block, reason


# %% g_compare_middle_of_unsorted fails a4.q8.compare is compare_middle_run
# Takes the middle pair in the order of the runs.
def compare(plain, speculative):
    ratios = []
    for i in range(len(plain)):
        slow = plain[i][0] / plain[i][1]
        fast = speculative[i][0] / speculative[i][1]
        ratios.append(slow / fast)
    n = len(ratios)
    middle = ratios[n // 2] if n % 2 else (ratios[n // 2 - 1] + ratios[n // 2]) / 2
    return middle, min(ratios), max(ratios)


# %% g_compare_total_rates fails a4.q8.compare is compare_totals
# Gives the ratio of the totals, and the pairs' lowest and highest.
def compare(plain, speculative):
    def rate(runs):
        return sum(t for t, _ in runs) / sum(n for _, n in runs)

    pairs = [(a / m) / (b / n) for (a, m), (b, n) in zip(plain, speculative)]
    return rate(plain) / rate(speculative), min(pairs), max(pairs)


# %% g_cut_by_first_occurrence fails a4.q3.cut is cut_earliest_begin_then_alphabet also cut_earliest_begin
# Takes the stop that begins first.
def cut(text, stops):
    found = [(text.find(s), s) for s in stops if s in text]
    if not found:
        return text, None
    where, stop = min(found)
    return text[:where], stop


# %% g_cut_longest_stop_first fails a4.q3.cut is cut_longest_anywhere
# Tries the longest stops first and takes the first that occurs anywhere.
def cut(text, stops):
    for stop in sorted(stops, key=len, reverse=True):
        at = text.find(stop)
        if at >= 0:
            return text[:at], stop
    return text, None


# %% g_decode_by_length_byte fails a4.q5.characters is decode_trusts_the_first_byte
# Reads the length from the first byte, and never checks the others.
def decode(held, piece, final):
    data = held + piece
    out, i = "", 0
    while i < len(data):
        b = data[i]
        n = 1 if b < 0x80 else 2 if b < 0xE0 else 3 if b < 0xF0 else 4
        if i + n > len(data) and not final:
            return out, data[i:]
        out += data[i : i + n].decode("utf-8", "replace")
        i += n
    return out, b""


# %% g_latency_gaps_averaged fails a4.q7.latency is latency_per_step
# Averages the time between arrivals.
def latency(start, arrivals):
    times = [t for t, _ in arrivals]
    if not times:
        return None, None
    gaps = [b - a for a, b in zip(times, times[1:])]
    return times[0] - start, (sum(gaps) / len(gaps) if gaps else None)


# %% g_metrics_accepted_as_made fails a4.q6.counts is counts_cut_block_accepted also positions_cut_block
# Counts what the rule accepted, also what was cut away.
def metrics(steps):
    tokens = drafted = accepted = judged = 0
    longest = max([s["drafted"] for s in steps], default=0)
    by_place = [0] * longest
    for s in steps:
        tokens += s["emitted"]
        drafted += s["drafted"]
        accepted += s["accepted"]
        judged += min(s["accepted"] + 1, s["drafted"])
        for i in range(s["accepted"]):
            by_place[i] += 1

    def ratio(a, b):
        return a / b if b else None

    return {
        "num_tokens": tokens,
        "num_steps": len(steps),
        "num_draft_tokens": drafted,
        "num_accepted_tokens": accepted,
        "num_evaluated_tokens": judged,
        "num_accepted_tokens_per_pos": by_place,
        "mean_acceptance_length": ratio(tokens, len(steps)),
        "draft_acceptance_rate": ratio(accepted, drafted),
        "alpha": ratio(accepted, judged),
    }


# %% g_metrics_cut_steps_have_a_bonus fails a4.q6.counts is counts_last_emitted_is_the_bonus
# Takes the last emitted token of each step for the target's own, also where the step was cut.
def metrics(steps):
    acc = [max(0, s["emitted"] - 1) for s in steps]
    dr = [s["drafted"] for s in steps]
    ev = [min(d, a + 1) for d, a in zip(dr, acc)]
    n = sum(s["emitted"] for s in steps)
    return {
        "num_tokens": n,
        "num_steps": len(steps),
        "num_draft_tokens": sum(dr),
        "num_accepted_tokens": sum(acc),
        "num_evaluated_tokens": sum(ev),
        "num_accepted_tokens_per_pos": [len([a for a in acc if a > i]) for i in range(max(dr + [0]))],
        "mean_acceptance_length": n / len(steps) if steps else None,
        "draft_acceptance_rate": sum(acc) / sum(dr) if sum(dr) else None,
        "alpha": sum(acc) / sum(ev) if sum(ev) else None,
    }


# %% g_metrics_positions_rates fails a4.q6.positions is positions_as_rates
# Divides the counts by place by the number of steps.
def metrics(steps):
    keys = ["emitted", "drafted"]
    emitted, drafted = ([s[k] for s in steps] for k in keys)
    good = [min(s["accepted"], s["emitted"]) for s in steps]
    seen = [min(s["accepted"] + 1, s["emitted"], s["drafted"]) for s in steps]
    width = max(drafted) if drafted else 0
    table = {"num_tokens": sum(emitted), "num_steps": len(steps), "num_draft_tokens": sum(drafted)}
    table["num_accepted_tokens"] = sum(good)
    table["num_evaluated_tokens"] = sum(seen)
    table["num_accepted_tokens_per_pos"] = [sum(g > i for g in good) / len(steps) for i in range(width)]
    table["mean_acceptance_length"] = sum(emitted) / len(steps) if steps else None
    table["draft_acceptance_rate"] = sum(good) / sum(drafted) if sum(drafted) else None
    table["alpha"] = sum(good) / sum(seen) if sum(seen) else None
    return table


# %% g_release_last_character fails a4.q4.piece is release_holds_fixed_length
# Holds back as many characters as the longest stop lacks one of, always.
def release(held, piece, stops):
    text, stop = cut(held + piece, stops)
    if stop is not None:
        return text, "", stop
    keep = max((len(s) for s in stops), default=1) - 1
    if keep == 0:
        return text, "", None
    return text[:-keep], text[-keep:], None


# %% g_release_partial_at_any_place fails a4.q4.piece is release_holds_from_a_first_character
# Holds from the first place where the first character of a stop appears.
def release(held, piece, stops):
    text, stop = cut(held + piece, stops)
    if stop:
        return text, "", stop
    starts = [text.find(s[0]) for s in stops if s[0] in text]
    if starts:
        return text[: min(starts)], text[min(starts) :], None
    return text, "", None


# %% g_retracted_only_when_shorter fails a4.q9.retracted is retracted_length_only
# Counts how much shorter each screen is.
def retracted(screens):
    gone = 0
    for i in range(1, len(screens)):
        change = len(screens[i - 1]) - len(screens[i])
        if change > 0:
            gone += change
    return gone


# %% g_room_of_the_smaller fails a4.q1.room is room_context_without_generated
# Subtracts the generated tokens from the budget only, not from the context.
def num_drafts(gamma, num_generated, max_tokens, num_prompt, n_positions):
    left = max_tokens - num_generated - 1
    place = n_positions - num_prompt - 1
    return max(0, min(gamma, left, place))


# %% k_commit_eos_as_a_number fails a4.q2.block is block_ignores_eos
# Compares tokens with the whole list of eos.
def commit(block, num_generated, max_tokens, eos):
    out = []
    for token in block:
        if num_generated + len(out) == max_tokens:
            return out, "length"
        out.append(token)
        if token == eos:
            return out, "eos"
    return out, "length" if num_generated + len(out) == max_tokens else None


# %% k_commit_reason_before_end fails a4.q2.block is block_length_before_eos
# Asks for the length before it asks for eos.
def commit(block, num_generated, max_tokens, eos):
    kept = []
    for token in block:
        kept.append(token)
        if num_generated + len(kept) >= max_tokens:
            return kept, "length"
        if token in eos:
            return kept, "eos"
    return kept, None


# %% k_compare_pairs_all fails a4.q8.compare is compare_all_pairs
# Compares each run with every run of the other kind.
def compare(plain, speculative):
    ratios = sorted((a / m) / (b / n) for a, m in plain for b, n in speculative)
    return median(ratios), ratios[0], ratios[-1]


# %% k_cut_shortest_of_completed fails a4.q3.cut is cut_shortest
# Of several that are complete at once, takes the shortest.
def cut(text, stops):
    stops = sorted(stops, key=len)
    so_far = ""
    for character in text:
        so_far += character
        for stop in stops:
            if so_far.endswith(stop):
                return so_far.removesuffix(stop), stop
    return text, None


# %% k_cut_splits_on_all fails a4.q3.cut
# Cuts at each stop in turn, and reports the last one that cut anything.
def cut(text, stops):
    found = None
    for stop in stops:
        before, middle, _ = text.partition(stop)
        if middle:
            text, found = before, stop
    return text, found


# %% k_decode_retry_shorter fails a4.q5.characters is decode_trims_until_it_fits
# Tries shorter and shorter beginnings, and holds the rest back, however long it is.
def decode(held, piece, final):
    data = held + piece
    if final:
        return data.decode("utf-8", "replace"), b""
    for end in range(len(data), -1, -1):
        try:
            return data[:end].decode("utf-8"), data[end:]
        except UnicodeDecodeError:
            pass


# %% k_decode_waits_for_final fails a4.q5.characters is decode_all_or_nothing also decode_waits_for_the_end
# Shows nothing before the end.
def decode(held, piece, final):
    everything = held + piece
    if final:
        return everything.decode("utf-8", errors="replace"), b""
    return "", everything


# %% k_latency_over_all_tokens fails a4.q7.latency is latency_all_tokens
# Divides by all tokens, those of the first arrival too.
def latency(start, arrivals):
    if len(arrivals) == 0:
        return None, None
    first = arrivals[0][0]
    if len(arrivals) == 1:
        return first - start, None
    count = sum(n for _, n in arrivals)
    return first - start, (arrivals[-1][0] - first) / count


# %% k_metrics_all_drafts_judged fails a4.q6.counts is counts_all_drafts_evaluated also ratios_alpha_is_rate
# Calls every emitted draft position judged, also those behind the rejection.
def metrics(steps):
    a = sum(min(s["accepted"], s["emitted"]) for s in steps)
    d = sum(s["drafted"] for s in steps)
    e = sum(s["drafted"] for s in steps)
    t = sum(s["emitted"] for s in steps)
    places = []
    for i in range(max((s["drafted"] for s in steps), default=0)):
        places.append(sum(1 for s in steps if min(s["accepted"], s["emitted"]) > i))
    return {
        "num_tokens": t,
        "num_steps": len(steps),
        "num_draft_tokens": d,
        "num_accepted_tokens": a,
        "num_evaluated_tokens": e,
        "num_accepted_tokens_per_pos": places,
        "mean_acceptance_length": t / len(steps) if steps else None,
        "draft_acceptance_rate": a / d if d else None,
        "alpha": a / e if e else None,
    }


# %% k_metrics_length_is_of_drafts fails a4.q6.ratios
# Divides the tokens by one more than the drafts.
def metrics(steps):
    result = dict.fromkeys(["mean_acceptance_length", "draft_acceptance_rate", "alpha"])
    good = [min(s["accepted"], s["emitted"]) for s in steps]
    result["num_tokens"] = sum(s["emitted"] for s in steps)
    result["num_steps"] = len(steps)
    result["num_draft_tokens"] = sum(s["drafted"] for s in steps)
    result["num_accepted_tokens"] = sum(good)
    result["num_evaluated_tokens"] = sum(min(s["accepted"] + 1, s["emitted"], s["drafted"]) for s in steps)
    result["num_accepted_tokens_per_pos"] = [
        sum(g > i for g in good) for i in range(max([s["drafted"] for s in steps] or [0]))
    ]
    if steps:
        result["mean_acceptance_length"] = result["num_tokens"] / (result["num_draft_tokens"] + 1)
    if result["num_draft_tokens"]:
        result["draft_acceptance_rate"] = result["num_accepted_tokens"] / result["num_draft_tokens"]
    if result["num_evaluated_tokens"]:
        result["alpha"] = result["num_accepted_tokens"] / result["num_evaluated_tokens"]
    return result


# %% k_metrics_mean_of_ratios fails a4.q6.ratios is ratios_mean_of_steps
# Averages the acceptance rates of the steps.
def metrics(steps):
    accepted = [min(s["accepted"], s["emitted"]) for s in steps]
    judged = [min(s["accepted"] + 1, s["emitted"], s["drafted"]) for s in steps]
    drafted = [s["drafted"] for s in steps]
    emitted = [s["emitted"] for s in steps]
    rates = [a / d for a, d in zip(accepted, drafted) if d]
    alphas = [a / j for a, j in zip(accepted, judged) if j]
    positions = [0] * max(drafted, default=0)
    for a in accepted:
        for i in range(a):
            positions[i] += 1
    return {
        "num_tokens": sum(emitted),
        "num_steps": len(emitted),
        "num_draft_tokens": sum(drafted),
        "num_accepted_tokens": sum(accepted),
        "num_evaluated_tokens": sum(judged),
        "num_accepted_tokens_per_pos": positions,
        "mean_acceptance_length": sum(emitted) / len(emitted) if emitted else None,
        "draft_acceptance_rate": sum(rates) / len(rates) if rates else None,
        "alpha": sum(alphas) / len(alphas) if alphas else None,
    }


# %% k_release_prefix_of_whole_stop_only fails a4.q4.piece
# Holds a text back only if it lacks no more than its last character of a stop.
def release(held, piece, stops):
    text, stop = cut(held + piece, stops)
    if stop is not None:
        return text, "", stop
    for s in sorted(stops, key=len, reverse=True):
        if len(s) > 1 and text.endswith(s[:-1]):
            at = len(text) - len(s) + 1
            return text[:at], text[at:], None
    return text, "", None


# %% k_release_shows_nothing_until_safe fails a4.q4.piece is release_holds_whole_piece
# Shows nothing at all while the end might be a stop.
def release(held, piece, stops):
    text, stop = cut(held + piece, stops)
    if stop is not None:
        return text, "", stop
    for s in stops:
        for n in range(1, len(s)):
            if text.endswith(s[:n]):
                return "", text, None
    return text, "", None


# %% k_retracted_common_end_too fails a4.q9.retracted
# Leaves out a common end as well as a common beginning.
def retracted(screens):
    total = 0
    for old, new in pairwise(screens):
        while old and new and old[0] == new[0]:
            old, new = old[1:], new[1:]
        while old and new and old[-1] == new[-1]:
            old, new = old[:-1], new[:-1]
        total += len(old)
    return total


# %% k_room_total_length fails a4.q1.room is room_counts_the_prompt
# Counts the prompt against both limits.
def num_drafts(gamma, num_generated, max_tokens, num_prompt, n_positions):
    length = num_prompt + num_generated
    limit = max_tokens if max_tokens < n_positions else n_positions
    drafts = limit - length - 1
    if drafts < 0:
        drafts = 0
    return drafts if drafts < gamma else gamma


# %% n_commit_length_wins fails a4.q2.block is block_length_before_eos
# Says "length" where the last token allowed is an eos.
def commit(block, num_generated, max_tokens, eos):
    out = []
    for t in block:
        out.append(t)
        if len(out) + num_generated == max_tokens:
            return out, "length"
        if t in eos:
            return out, "eos"
    return out, None


# %% n_commit_without_eos fails a4.q2.block is block_drops_eos
# Cuts the ending token off too.
def commit(block, num_generated, max_tokens, eos):
    out = []
    for t in block:
        if t in eos:
            return out, "eos"
        out.append(t)
        if len(out) + num_generated >= max_tokens:
            return out, "length"
    return out, None


# %% n_compare_seconds fails a4.q8.compare is compare_whole_runs
# Compares seconds, whatever the tokens.
def compare(plain, speculative):
    r = sorted(a / b for (a, _), (b, _) in zip(plain, speculative))
    return median(r), r[0], r[-1]


# %% n_cut_first_beginning fails a4.q3.cut is cut_earliest_begin
# Takes the stop that begins first.
def cut(text, stops):
    hits = [(text.find(s), -len(s), s) for s in stops if s in text]
    if not hits:
        return text, None
    at, _, stop = min(hits)
    return text[:at], stop


# %% n_drafts_positions_of_the_prompt fails a4.q1.room is room_context_without_generated
# Subtracts the prompt from the positions and not what was generated.
def num_drafts(gamma, num_generated, max_tokens, num_prompt, n_positions):
    return max(0, min(gamma, max_tokens - num_generated - 1, n_positions - num_prompt - 1))


# %% n_drafts_room_itself fails a4.q1.room is room_overshoots
# Forgets the token that a step adds to its drafts.
def num_drafts(gamma, num_generated, max_tokens, num_prompt, n_positions):
    left = max_tokens - num_generated
    space = n_positions - num_prompt - num_generated
    return max(min(gamma, left, space), 0)


# %% n_latency_counts_the_first fails a4.q7.latency is latency_from_the_start
# Measures the later time from the start, not from the first arrival.
def latency(start, arrivals):
    if not arrivals:
        return None, None
    later = sum(c for _, c in arrivals[1:])
    return arrivals[0][0] - start, (arrivals[-1][0] - start) / later if later else None


# %% n_latency_over_all_but_one fails a4.q7.latency is latency_all_but_one
# Divides by all tokens but the first one.
def latency(start, arrivals):
    if not arrivals:
        return None, None
    n = sum(c for _, c in arrivals) - 1
    span = arrivals[-1][0] - arrivals[0][0]
    return arrivals[0][0] - start, span / n if n > 0 and len(arrivals) > 1 else None


# %% n_metrics_accepted_as_judged fails a4.q6.counts is counts_cut_block_accepted also positions_cut_block
# Takes the accepted drafts before the cut.
def metrics(steps):
    emitted = [s["emitted"] for s in steps]
    acc = [s["accepted"] for s in steps]
    dr = [s["drafted"] for s in steps]
    ev = [min(d, a + 1, e) for d, a, e in zip(dr, acc, emitted)]
    return {
        "num_tokens": sum(emitted),
        "num_steps": len(steps),
        "num_draft_tokens": sum(dr),
        "num_accepted_tokens": sum(acc),
        "num_evaluated_tokens": sum(ev),
        "num_accepted_tokens_per_pos": [sum(a > i for a in acc) for i in range(max(dr, default=0))],
        "mean_acceptance_length": sum(emitted) / len(steps) if steps else None,
        "draft_acceptance_rate": sum(acc) / sum(dr) if sum(dr) else None,
        "alpha": sum(acc) / sum(ev) if sum(ev) else None,
    }


# %% n_release_holds_a_fixed_end fails a4.q4.piece is release_holds_fixed_length
# Always holds back as many characters as the longest stop has but one.
def release(held, piece, stops):
    text, stop = cut(held + piece, stops)
    if stop:
        return text, "", stop
    n = max((len(s) for s in stops), default=1) - 1
    at = max(len(text) - n, 0)
    return text[:at], text[at:], None


# %% n_retracted_whole fails a4.q9.retracted is retracted_differing_characters
# Counts the characters that differ place by place.
def retracted(screens):
    n = 0
    for a, b in zip(screens, screens[1:]):
        n += sum(x != y for x, y in zip(a, b)) + max(0, len(a) - len(b))
    return n
