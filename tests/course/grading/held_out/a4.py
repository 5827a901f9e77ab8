"""Wrong submissions to A4 that no check was written from: what is caught and named of them is counted."""


# %% block_budget_first fails a4.q2.block is block_length_before_eos
# Tests the budget before the token.
def commit(block, num_generated, max_tokens, eos):
    count = num_generated
    kept = []
    for token in block:
        kept.append(token)
        count += 1
        if count >= max_tokens:
            return kept, "length"
        if token in eos:
            return kept, "eos"
    return kept, None


# %% block_checks_last fails a4.q2.block is block_last_token_only
# if block[-1] in eos.
def commit(block, num_generated, max_tokens, eos):
    block = block[: max_tokens - num_generated]
    reason = None
    if len(block) + num_generated >= max_tokens:
        reason = "length"
    if block[-1] in eos:
        reason = "eos"
    return block, reason


# %% block_eos_excluded fails a4.q2.block is block_drops_eos
# Cuts before the end token.
def commit(block, num_generated, max_tokens, eos):
    kept = []
    for token in block:
        if token in eos:
            return kept, "eos"
        kept.append(token)
        if len(kept) + num_generated == max_tokens:
            return kept, "length"
    return kept, None


# %% block_none_when_full fails a4.q2.block is block_length_too_late
# Cuts to the budget but says None.
def commit(block, num_generated, max_tokens, eos):
    kept = block[: max_tokens - num_generated]
    for i, token in enumerate(kept):
        if token in eos:
            return kept[: i + 1], "eos"
    return kept, "length" if len(block) > len(kept) else None


# %% block_stop_but_keep fails a4.q2.block is block_keeps_what_follows
# any(token in eos).
def commit(block, num_generated, max_tokens, eos):
    room = max_tokens - num_generated
    ended = bool(set(block[:room]) & set(eos))
    return block[:room], "eos" if ended else ("length" if len(block) >= room else None)


# %% compare_averages fails a4.q8.compare is compare_mean
# The mean of the pairs.
from statistics import fmean


def compare(plain, speculative):
    ratios = [s * m / (n * t) for (s, n), (t, m) in zip(plain, speculative)]
    return fmean(ratios), min(ratios), max(ratios)


# %% compare_seconds fails a4.q8.compare is compare_whole_runs
# Ignores the numbers of tokens.
def compare(plain, speculative):
    ratios = [a[0] / b[0] for a, b in zip(plain, speculative, strict=True)]
    ratios.sort()
    return median(ratios), ratios[0], ratios[-1]


# %% compare_upside_down fails a4.q8.compare is compare_inverted
# Speculative over plain.
def compare(plain, speculative):
    ratios = sorted((t / m) / (s / n) for (s, n), (t, m) in zip(plain, speculative))
    return median(ratios), ratios[0], ratios[-1]


# %% cut_endswith fails a4.q3.cut is cut_at_the_end_only
# Only text.endswith.
def cut(text, stops):
    for stop in sorted(stops, key=len, reverse=True):
        if text.endswith(stop):
            return text.removesuffix(stop), stop
    return text, None


# %% cut_includes_stop fails a4.q3.cut is cut_keeps_the_stop
# text[:end].
def cut(text, stops):
    ends = sorted((text.find(stop) + len(stop), -len(stop), stop) for stop in stops if stop in text)
    return (text[: ends[0][0]], ends[0][2]) if ends else (text, None)


# %% cut_leftmost fails a4.q3.cut is cut_earliest_begin
# The leftmost occurrence.
def cut(text, stops):
    best, chosen = len(text), None
    for stop in sorted(stops, key=len, reverse=True):
        place = text.find(stop)
        if 0 <= place < best:
            best, chosen = place, stop
    return text[:best], chosen


# %% cut_split fails a4.q3.cut is cut_first_in_the_list
# text.split(stop) in the order of the list.
def cut(text, stops):
    for stop in stops:
        parts = text.split(stop)
        if len(parts) > 1:
            return parts[0], stop
    return text, None


# %% cut_with_rfind fails a4.q3.cut is cut_last_occurrence
# rfind.
def cut(text, stops):
    places = [(text.rfind(stop) + len(stop), -len(stop), stop) for stop in stops if stop in text]
    if not places:
        return text, None
    end, _, stop = min(places)
    return text[: end - len(stop)], stop


# %% decode_each_piece fails a4.q5.characters is decode_piece_by_piece
# piece.decode(errors="replace").
def decode(held, piece, final):
    return str(piece, "utf-8", errors="replace"), b""


# %% decode_final_forgotten fails a4.q5.characters is decode_never_flushes
# final is not used.
right_decode = decode


def decode(held, piece, final):
    return right_decode(held, piece, False)


# %% decode_waits_for_all fails a4.q5.characters is decode_all_or_nothing
# Holds the whole piece until it decodes.
def decode(held, piece, final):
    data = held + piece
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        if not final:
            return "", data
        text = data.decode("utf-8", errors="replace")
    return text, b""


# %% decode_with_ignore fails a4.q5.characters is decode_ignores_errors
# errors="ignore" with a tail held back.
def decode(held, piece, final):
    data = held + piece
    for size in range(0, 4):
        head, tail = data[: len(data) - size], data[len(data) - size :]
        try:
            head.decode()
        except UnicodeDecodeError as error:
            if error.reason == "unexpected end of data" and not final:
                continue
            return data.decode("utf-8", "ignore"), b""
        return head.decode(), tail
    return data.decode("utf-8", "ignore"), b""


# %% f_cmp_mean fails a4.q8.compare is compare_mean
# Mean.
def compare(plain, speculative):
    r = [(a[0] / a[1]) / (b[0] / b[1]) for a, b in zip(plain, speculative)]
    return sum(r) / len(r), min(r), max(r)


# %% f_cmp_medians fails a4.q8.compare is compare_medians
# Ratio of medians.
def compare(plain, speculative):
    def f(runs):
        return [s / n for s, n in runs]

    r = [a / b for a, b in zip(f(plain), f(speculative))]
    return median(f(plain)) / median(f(speculative)), min(r), max(r)


# %% f_cmp_sorted fails a4.q8.compare is nothing
# Sorted before pairing.
def compare(plain, speculative):
    a, b = sorted(s / n for s, n in plain), sorted(s / n for s, n in speculative)
    r = [x / y for x, y in zip(a, b)]
    return median(r), min(r), max(r)


# %% f_commit_drop_eos fails a4.q2.block is block_drops_eos
# Eos dropped.
def commit(block, num_generated, max_tokens, eos):
    out = []
    for t in block:
        if t in eos:
            return out, "eos"
        out.append(t)
        if num_generated + len(out) == max_tokens:
            return out, "length"
    return out, None


# %% f_commit_eos_beyond fails a4.q2.block is block_eos_beyond_the_budget
# Eos beyond the budget counts.
def commit(block, num_generated, max_tokens, eos):
    reason = None
    for i, t in enumerate(block):
        if t in eos:
            block, reason = block[: i + 1], "eos"
            break
    room = max_tokens - num_generated
    if len(block) >= room:
        return block[:room], reason or "length"
    return block, reason


# %% f_commit_last_eos fails a4.q2.block is block_last_eos
# Cut at the last eos.
def commit(block, num_generated, max_tokens, eos):
    block = block[: max_tokens - num_generated]
    where = [i for i, t in enumerate(block) if t in eos]
    if where:
        return block[: where[-1] + 1], "eos"
    return block, "length" if num_generated + len(block) == max_tokens else None


# %% f_commit_reason_missing_full fails a4.q2.block is block_length_too_late
# The exact end is not told.
def commit(block, num_generated, max_tokens, eos):
    out = []
    for t in block:
        if num_generated + len(out) == max_tokens:
            return out, "length"
        out.append(t)
        if t in eos:
            return out, "eos"
    return out, None


# %% f_cut_first_in_list_of_completed fails a4.q3.cut is cut_first_listed_of_completed
# Of those completed together the list's first.
def cut(text, stops):
    for end in range(1, len(text) + 1):
        for s in stops:
            if text[:end].endswith(s):
                return text[: end - len(s)], s
    return text, None


# %% f_cut_keeps_stop fails a4.q3.cut is cut_keeps_the_stop
# The stop stays.
def cut(text, stops):
    for end in range(1, len(text) + 1):
        hit = [s for s in stops if text[:end].endswith(s)]
        if hit:
            return text[:end], max(hit, key=len)
    return text, None


# %% f_cut_last fails a4.q3.cut is cut_last_occurrence
# The last occurrence.
def cut(text, stops):
    found = [(text.rfind(s) + len(s), s) for s in stops if s in text]
    if not found:
        return text, None
    end, s = min(found, key=lambda f: (f[0], -len(f[1])))
    return text[: end - len(s)], s


# %% f_cut_leftmost fails a4.q3.cut is cut_earliest_begin
# The leftmost beginning.
def cut(text, stops):
    found = [(text.find(s), s) for s in stops if s in text]
    if not found:
        return text, None
    at, stop = min(found, key=lambda f: (f[0], -len(f[1])))
    return text[:at], stop


# %% f_dec_each_alone fails a4.q5.characters is decode_piece_by_piece
# Each piece alone.
def decode(held, piece, final):
    return piece.decode("utf-8", "replace"), b""


# %% f_dec_final_ignored fails a4.q5.characters is decode_never_flushes
# Never final.
def decode(held, piece, final):
    d = codecs.getincrementaldecoder("utf-8")("replace")
    return d.decode(held + piece, False), d.getstate()[0]


# %% f_dec_three_bytes fails a4.q5.characters is decode_holds_one_byte_at_most
# Holds at most one byte.
def decode(held, piece, final):
    data = held + piece
    if not final and data and data[-1] >= 0xC0:
        return data[:-1].decode("utf-8", "replace"), data[-1:]
    return data.decode("utf-8", "replace"), b""


# %% f_dec_up_to_error fails a4.q5.characters is decode_trims_until_it_fits
# Holds back from the first error on.
def decode(held, piece, final):
    data = held + piece
    try:
        return data.decode("utf-8"), b""
    except UnicodeDecodeError as e:
        if final:
            return data.decode("utf-8", "replace"), b""
        return data[: e.start].decode("utf-8"), data[e.start :]


# %% f_lat_all_but_one fails a4.q7.latency is latency_all_but_one
# All tokens but one.
def latency(start, arrivals):
    if not arrivals:
        return None, None
    n = sum(c for _, c in arrivals) - 1
    return arrivals[0][0] - start, (arrivals[-1][0] - arrivals[0][0]) / n if n else None


# %% f_lat_per_arrival fails a4.q7.latency is latency_per_step
# Per arrival.
def latency(start, arrivals):
    if not arrivals:
        return None, None
    n = len(arrivals) - 1
    return arrivals[0][0] - start, (arrivals[-1][0] - arrivals[0][0]) / n if n else None


# %% f_lat_zero fails a4.q7.latency is latency_zero_for_nothing
# 0.0 for None.
def latency(start, arrivals):
    if not arrivals:
        return 0.0, 0.0
    n = sum(c for _, c in arrivals[1:])
    return arrivals[0][0] - start, (arrivals[-1][0] - arrivals[0][0]) / n if n else 0.0


# %% f_met_accepted_is_emitted_minus_one fails a4.q6.counts is nothing
# Accepted = emitted - 1.
def _figures(steps, acc, ev, tokens=None):
    dr = [s["drafted"] for s in steps]
    n = sum(s["emitted"] for s in steps) if tokens is None else tokens
    return {
        "num_tokens": n,
        "num_steps": len(steps),
        "num_draft_tokens": sum(dr),
        "num_accepted_tokens": sum(acc),
        "num_evaluated_tokens": sum(ev),
        "num_accepted_tokens_per_pos": [sum(a > i for a in acc) for i in range(max(dr, default=0))],
        "mean_acceptance_length": n / len(steps) if steps else None,
        "draft_acceptance_rate": sum(acc) / sum(dr) if sum(dr) else None,
        "alpha": sum(acc) / sum(ev) if sum(ev) else None,
    }


def metrics(steps):
    acc = [max(0, s["emitted"] - 1) for s in steps]
    return _figures(steps, acc, [min(s["drafted"], s["accepted"] + 1, s["emitted"]) for s in steps])


# %% f_met_evaluated_all fails a4.q6.counts is counts_all_drafts_evaluated
# Every draft counts as evaluated.
def _figures(steps, acc, ev, tokens=None):
    dr = [s["drafted"] for s in steps]
    n = sum(s["emitted"] for s in steps) if tokens is None else tokens
    return {
        "num_tokens": n,
        "num_steps": len(steps),
        "num_draft_tokens": sum(dr),
        "num_accepted_tokens": sum(acc),
        "num_evaluated_tokens": sum(ev),
        "num_accepted_tokens_per_pos": [sum(a > i for a in acc) for i in range(max(dr, default=0))],
        "mean_acceptance_length": n / len(steps) if steps else None,
        "draft_acceptance_rate": sum(acc) / sum(dr) if sum(dr) else None,
        "alpha": sum(acc) / sum(ev) if sum(ev) else None,
    }


def metrics(steps):
    return _figures(steps, [min(s["accepted"], s["emitted"]) for s in steps], [s["drafted"] for s in steps])


# %% f_met_evaluated_always_one_more fails a4.q6.counts is counts_always_one_rejection
# Bonus counts as judged.
def _figures(steps, acc, ev, tokens=None):
    dr = [s["drafted"] for s in steps]
    n = sum(s["emitted"] for s in steps) if tokens is None else tokens
    return {
        "num_tokens": n,
        "num_steps": len(steps),
        "num_draft_tokens": sum(dr),
        "num_accepted_tokens": sum(acc),
        "num_evaluated_tokens": sum(ev),
        "num_accepted_tokens_per_pos": [sum(a > i for a in acc) for i in range(max(dr, default=0))],
        "mean_acceptance_length": n / len(steps) if steps else None,
        "draft_acceptance_rate": sum(acc) / sum(dr) if sum(dr) else None,
        "alpha": sum(acc) / sum(ev) if sum(ev) else None,
    }


def metrics(steps):
    acc = [min(s["accepted"], s["emitted"]) for s in steps]
    return _figures(steps, acc, [min(s["accepted"] + 1, s["emitted"]) for s in steps])


# %% f_met_per_pos_short fails a4.q6.positions is positions_trimmed
# Per position as long as the longest acceptance.
def _figures(steps, acc, ev, tokens=None):
    dr = [s["drafted"] for s in steps]
    n = sum(s["emitted"] for s in steps) if tokens is None else tokens
    return {
        "num_tokens": n,
        "num_steps": len(steps),
        "num_draft_tokens": sum(dr),
        "num_accepted_tokens": sum(acc),
        "num_evaluated_tokens": sum(ev),
        "num_accepted_tokens_per_pos": [sum(a > i for a in acc) for i in range(max(dr, default=0))],
        "mean_acceptance_length": n / len(steps) if steps else None,
        "draft_acceptance_rate": sum(acc) / sum(dr) if sum(dr) else None,
        "alpha": sum(acc) / sum(ev) if sum(ev) else None,
    }


def metrics(steps):
    acc = [min(s["accepted"], s["emitted"]) for s in steps]
    out = _figures(steps, acc, [min(s["drafted"], s["accepted"] + 1, s["emitted"]) for s in steps])
    out["num_accepted_tokens_per_pos"] = [sum(a > i for a in acc) for i in range(max(acc, default=0))]
    return out


# %% f_met_rate_mean fails a4.q6.ratios is ratios_mean_of_steps
# Rate as a mean of steps.
def _figures(steps, acc, ev, tokens=None):
    dr = [s["drafted"] for s in steps]
    n = sum(s["emitted"] for s in steps) if tokens is None else tokens
    return {
        "num_tokens": n,
        "num_steps": len(steps),
        "num_draft_tokens": sum(dr),
        "num_accepted_tokens": sum(acc),
        "num_evaluated_tokens": sum(ev),
        "num_accepted_tokens_per_pos": [sum(a > i for a in acc) for i in range(max(dr, default=0))],
        "mean_acceptance_length": n / len(steps) if steps else None,
        "draft_acceptance_rate": sum(acc) / sum(dr) if sum(dr) else None,
        "alpha": sum(acc) / sum(ev) if sum(ev) else None,
    }


def metrics(steps):
    acc = [min(s["accepted"], s["emitted"]) for s in steps]
    out = _figures(steps, acc, [min(s["drafted"], s["accepted"] + 1, s["emitted"]) for s in steps])
    rs = [a / s["drafted"] for a, s in zip(acc, steps) if s["drafted"]]
    out["draft_acceptance_rate"] = sum(rs) / len(rs) if rs else None
    return out


# %% f_met_zero_for_none fails a4.q6.ratios is ratios_zero_for_nothing
# 0.0 for no denominator.
def _figures(steps, acc, ev, tokens=None):
    dr = [s["drafted"] for s in steps]
    n = sum(s["emitted"] for s in steps) if tokens is None else tokens
    return {
        "num_tokens": n,
        "num_steps": len(steps),
        "num_draft_tokens": sum(dr),
        "num_accepted_tokens": sum(acc),
        "num_evaluated_tokens": sum(ev),
        "num_accepted_tokens_per_pos": [sum(a > i for a in acc) for i in range(max(dr, default=0))],
        "mean_acceptance_length": n / len(steps) if steps else None,
        "draft_acceptance_rate": sum(acc) / sum(dr) if sum(dr) else None,
        "alpha": sum(acc) / sum(ev) if sum(ev) else None,
    }


def metrics(steps):
    acc = [min(s["accepted"], s["emitted"]) for s in steps]
    out = _figures(steps, acc, [min(s["drafted"], s["accepted"] + 1, s["emitted"]) for s in steps])
    return {k: 0.0 if v is None else v for k, v in out.items()}


# %% f_nd_at_least_one fails a4.q1.room is room_at_least_one
# At least one.
def num_drafts(gamma, num_generated, max_tokens, num_prompt, n_positions):
    return max(1, min(gamma, max_tokens - num_generated - 1, n_positions - num_prompt - num_generated - 1))


# %% f_nd_negative fails a4.q1.room is room_negative
# May be negative.
def num_drafts(gamma, num_generated, max_tokens, num_prompt, n_positions):
    return min(gamma, max_tokens - num_generated - 1, n_positions - num_prompt - num_generated - 1)


# %% f_nd_no_context fails a4.q1.room is room_forgets_the_context
# The context is forgotten.
def num_drafts(gamma, num_generated, max_tokens, num_prompt, n_positions):
    return max(0, min(gamma, max_tokens - num_generated - 1))


# %% f_rel_all_or_nothing fails a4.q4.piece is release_holds_whole_piece
# Holds all while any end begins a stop.
def release(held, piece, stops):
    text, stop = cut(held + piece, stops)
    if stop is not None:
        return text, "", stop
    if any(s.startswith(text[i:]) for i in range(len(text)) for s in stops):
        return "", text, None
    return text, "", None


# %% f_rel_first_char fails a4.q4.piece is release_holds_any_character
# From the first place of a stop's first character on.
def release(held, piece, stops):
    text, stop = cut(held + piece, stops)
    if stop is not None:
        return text, "", stop
    at = min((text.find(s[0]) for s in stops if s[0] in text), default=len(text))
    return text[:at], text[at:], None


# %% f_rel_first_stop_only fails a4.q4.piece is release_first_stop_only
# Only ends that begin the first stop.
def release(held, piece, stops):
    text, stop = cut(held + piece, stops)
    if stop is not None:
        return text, "", stop
    for i in range(len(text)):
        if stops and stops[0].startswith(text[i:]):
            return text[:i], text[i:], None
    return text, "", None


# %% f_rel_fixed_window fails a4.q4.piece is release_holds_fixed_length
# Holds back the longest stop's length less one.
def release(held, piece, stops):
    text, stop = cut(held + piece, stops)
    if stop is not None:
        return text, "", stop
    n = max((len(s) for s in stops), default=1) - 1
    return text[: len(text) - n], text[max(0, len(text) - n) :], None


# %% f_rel_nothing_held fails a4.q4.piece is release_everything
# Nothing is held.
def release(held, piece, stops):
    text, stop = cut(held + piece, stops)
    return text, "", stop


# %% f_ret_last fails a4.q9.retracted is retracted_against_the_last
# Against the last screen.
def retracted(screens):
    lost = 0
    for a in screens[:-1]:
        k = 0
        while k < min(len(a), len(screens[-1])) and a[k] == screens[-1][k]:
            k += 1
        lost += len(a) - k
    return lost


# %% f_ret_new_counted fails a4.q9.retracted is nothing
# What is new counts too.
def retracted(screens):
    lost = 0
    for a, b in pairwise(screens):
        k = 0
        while k < min(len(a), len(b)) and a[k] == b[k]:
            k += 1
        lost += len(a) - k + len(b) - k
    return lost


# %% f_ret_positions fails a4.q9.retracted is retracted_differing_characters
# Characters that differ place by place.
def retracted(screens):
    return sum(sum(x != y for x, y in zip(a, b)) + max(0, len(a) - len(b)) for a, b in pairwise(screens))


# %% latency_counts_first_tokens fails a4.q7.latency is latency_all_tokens
# Divides by every token.
def latency(start, arrivals):
    if not arrivals:
        return None, None
    ttft = arrivals[0][0] - start
    if len(arrivals) == 1:
        return ttft, None
    return ttft, (arrivals[-1][0] - arrivals[0][0]) / sum(n for _, n in arrivals)


# %% latency_mean_gap fails a4.q7.latency is latency_per_step
# The mean gap between steps.
from statistics import mean


def latency(start, arrivals):
    times = [time for time, _ in arrivals]
    if not times:
        return None, None
    gaps = [later - earlier for earlier, later in zip(times, times[1:])]
    return times[0] - start, mean(gaps) if gaps else None


# %% latency_throughput fails a4.q7.latency is latency_everything_over_everything
# Total time over all tokens.
def latency(start, arrivals):
    if not arrivals:
        return None, None
    times = [time for time, _ in arrivals]
    tokens = sum(n for _, n in arrivals)
    return times[0] - start, (times[-1] - start) / tokens


# %% metrics_accepted_uncut fails a4.q6.counts is counts_cut_block_accepted
# sum of accepted.
good_metrics = metrics


def metrics(steps):
    told = dict(good_metrics(steps))
    told["num_accepted_tokens"] = 0
    for step in steps:
        told["num_accepted_tokens"] += step["accepted"]
    return told


# %% metrics_alpha_rate fails a4.q6.ratios is ratios_alpha_is_rate
# alpha = accepted / drafted.
good_metrics = metrics


def metrics(steps):
    told = good_metrics(steps)
    drafted = told["num_draft_tokens"]
    told["alpha"] = told["num_accepted_tokens"] / drafted if drafted else None
    return told


# %% metrics_judges_all fails a4.q6.counts is counts_all_drafts_evaluated
# evaluated = drafted.
good_metrics = metrics


def metrics(steps):
    told = good_metrics(steps)
    told["num_evaluated_tokens"] = told["num_draft_tokens"]
    return told


# %% metrics_length_of_accepted fails a4.q6.ratios is ratios_length_without_bonus
# Accepted per step.
good_metrics = metrics


def metrics(steps):
    told = good_metrics(steps)
    told["mean_acceptance_length"] = sum(told["num_accepted_tokens_per_pos"]) / len(steps) if steps else None
    return told


# %% metrics_positions_exactly fails a4.q6.positions is positions_exact_count
# A histogram of accepted lengths.
good_metrics = metrics


def metrics(steps):
    told = good_metrics(steps)
    histogram = [0] * len(told["num_accepted_tokens_per_pos"])
    for step in steps:
        accepted = min(step["accepted"], step["emitted"])
        if accepted:
            histogram[accepted - 1] += 1
    return told | {"num_accepted_tokens_per_pos": histogram}


# %% metrics_steps_are_tokens fails a4.q6.counts is nothing
# num_steps is the number of tokens.
good_metrics = metrics


def metrics(steps):
    told = good_metrics(steps)
    told["num_steps"] = told["num_tokens"]
    return told


# %% release_loses_the_held fails a4.q4.stream is release_forgets_the_held
# Shows only the new piece when nothing needs holding.
def release(held, piece, stops):
    text = held + piece
    kept, stop = cut(text, stops)
    if stop:
        return kept, "", stop
    for size in range(len(text), 0, -1):
        if any(s.startswith(text[-size:]) for s in stops):
            return text[:-size], text[-size:], None
    return piece, "", None


# %% release_match_in_piece fails a4.q4.piece is release_piece_by_piece
# cut(piece).
def release(held, piece, stops):
    kept, stop = cut(piece, stops)
    if stop:
        return held + kept, "", stop
    text = held + piece
    for size in range(len(text), 0, -1):
        if any(s.startswith(text[-size:]) for s in stops):
            return text[:-size], text[-size:], None
    return text, "", None


# %% release_one_character fails a4.q4.piece is release_one_character_at_most
# Holds back one character at most.
def release(held, piece, stops):
    text = held + piece
    kept, stop = cut(text, stops)
    if stop:
        return kept, "", stop
    if text and any(s.startswith(text[-1]) for s in stops):
        return text[:-1], text[-1:], None
    return text, "", None


# %% release_shows_all fails a4.q4.piece is release_everything
# Never holds anything back.
def release(held, piece, stops):
    kept, stop = cut(held + piece, stops)
    return (kept, "", stop) if stop else (held + piece, "", None)


# %% release_window fails a4.q4.piece is release_holds_fixed_length
# Holds back longest - 1 characters.
def release(held, piece, stops):
    text = held + piece
    kept, stop = cut(text, stops)
    if stop:
        return kept, "", stop
    window = max((len(stop) for stop in stops), default=1) - 1
    safe = len(text) - min(window, len(text))
    return text[:safe], text[safe:], None


# %% retracted_by_length fails a4.q9.retracted is retracted_length_only
# Differences of lengths.
def retracted(screens):
    lost, before = 0, ""
    for screen in screens:
        if len(screen) < len(before):
            lost += len(before) - len(screen)
        before = screen
    return lost


# %% retracted_in_place fails a4.q9.retracted is retracted_differing_characters
# Compares character by character.
from itertools import zip_longest


def retracted(screens):
    lost = 0
    for old, new in zip(screens, screens[1:]):
        lost += sum(a is not None and a != b for a, b in zip_longest(old, new))
    return lost


# %% retracted_whole_screen fails a4.q9.retracted is retracted_whole_screens
# Any change takes the whole screen back.
def retracted(screens):
    return sum(len(old) for old, new in zip(screens, screens[1:]) if not new.startswith(old))


# %% room_for_gamma_and_more fails a4.q1.room is room_overshoots
# Fills the room with drafts.
def num_drafts(gamma, num_generated, max_tokens, num_prompt, n_positions):
    left = max_tokens - num_generated
    free = n_positions - num_prompt - num_generated
    return max(0, min(gamma, left, free))


# %% room_of_context_only fails a4.q1.room is room_forgets_the_budget
# Looks at the context alone.
def num_drafts(gamma, num_generated, max_tokens, num_prompt, n_positions):
    free = n_positions - (num_prompt + num_generated)
    return min(gamma, free - 1) if free > 0 else 0


# %% room_two_reserved fails a4.q1.room is nothing
# Reserves two tokens instead of one.
def num_drafts(gamma, num_generated, max_tokens, num_prompt, n_positions):
    room = min(max_tokens, n_positions - num_prompt) - num_generated
    return max(0, min(gamma, room - 2))


# %% room_without_clamp fails a4.q1.room is room_negative
# No max(0, ...).
def num_drafts(gamma, num_generated, max_tokens, num_prompt, n_positions):
    return min(gamma, max_tokens - num_generated - 1, n_positions - num_prompt - num_generated - 1)
