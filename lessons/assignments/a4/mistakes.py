"""Mistakes that students make in A4; minispec/course/grading/catalogue.py says how to read and write them."""


# %% block_counts_steps fails a4.q2.block in commit
# You count the block as one towards max_tokens; every token counts.
# -     if num_generated + i + 1 == max_tokens:
# -         return block[: i + 1], "length"
# - return block, None
# + return block, "length" if num_generated + 1 == max_tokens else None


# %% block_drops_eos fails a4.q2.block in commit
# You drop the end token itself; it is kept.
# -         return block[: i + 1], "eos"
# +         return block[:i], "eos"


# %% block_eos_beyond_the_budget fails a4.q2.block
# You look for an end token before cutting to the budget: one that lies beyond it is never emitted.
def commit(block, num_generated, max_tokens, eos):
    for i, token in enumerate(block):
        if token in eos:
            return block[: min(i + 1, max_tokens - num_generated)], "eos"
    kept = block[: max_tokens - num_generated]
    return kept, "length" if num_generated + len(kept) == max_tokens else None


# %% block_first_eos_only fails a4.q2.block in commit
# You compare with the first end token only; there may be several.
# -     if token in eos:
# +     if eos and token == eos[0]:


# %% block_ignores_eos fails a4.q2.block
# You never look for an end token.
def commit(block, num_generated, max_tokens, eos):
    kept = block[: max_tokens - num_generated]
    return kept, "length" if num_generated + len(kept) == max_tokens else None


# %% block_ignores_the_budget fails a4.q2.block in commit
# You keep more than max_tokens allows.
# -     if num_generated + i + 1 == max_tokens:
# -         return block[: i + 1], "length"
# - return block, None
# + return block, "length" if num_generated + len(block) >= max_tokens else None


# %% block_keeps_what_follows fails a4.q2.block
# You keep the tokens behind the end token.
def commit(block, num_generated, max_tokens, eos):
    kept = block[: max_tokens - num_generated]
    if any(token in eos for token in kept):
        return kept, "eos"
    return kept, "length" if num_generated + len(kept) == max_tokens else None


# %% block_last_eos fails a4.q2.block
# You cut at the last end token of the block; the first one ends the text.
def commit(block, num_generated, max_tokens, eos):
    kept = block[: max_tokens - num_generated]
    for i in reversed(range(len(kept))):
        if kept[i] in eos:
            return kept[: i + 1], "eos"
    return kept, "length" if num_generated + len(kept) == max_tokens else None


# %% block_last_token_only fails a4.q2.block
# You look for an end token only at the end of the block.
def commit(block, num_generated, max_tokens, eos):
    kept = block[: max_tokens - num_generated]
    if kept and kept[-1] in eos:
        return kept, "eos"
    return kept, "length" if num_generated + len(kept) == max_tokens else None


# %% block_length_before_eos fails a4.q2.block
# An end token that is also the last one allowed is reported as "length"; it is "eos".
def commit(block, num_generated, max_tokens, eos):
    for i, token in enumerate(block):
        if num_generated + i + 1 == max_tokens:
            return block[: i + 1], "length"
        if token in eos:
            return block[: i + 1], "eos"
    return block, None


# %% block_length_once_cut fails a4.q2.block
# You say "length" as soon as the block reaches the budget; an end token before that ends the text first.
def commit(block, num_generated, max_tokens, eos):
    room = max_tokens - num_generated
    reason = "length" if len(block) >= room else None
    for i, token in enumerate(block[:room]):
        if token in eos:
            return block[: i + 1], reason or "eos"
    return block[:room], reason


# %% block_length_too_late fails a4.q2.block
# A block that fills the budget exactly ends the text too: the reason is "length", not None.
def commit(block, num_generated, max_tokens, eos):
    for i, token in enumerate(block):
        if num_generated + i == max_tokens:
            return block[:i], "length"
        if token in eos:
            return block[: i + 1], "eos"
    return block, None


# %% block_not_at_the_front fails a4.q2.block
# An end token in front of the block goes unnoticed: its place is 0, and you test the place for truth.
def commit(block, num_generated, max_tokens, eos):
    kept = block[: max_tokens - num_generated]
    place = next((i for i, token in enumerate(kept) if token in eos), None)
    if place:
        return kept[: place + 1], "eos"
    return kept, "length" if num_generated + len(kept) >= max_tokens else None


# %% block_one_eos_after_another fails a4.q2.block
# You look for one end token after another; the first place in the block at which any of them stands counts.
def commit(block, num_generated, max_tokens, eos):
    room = max_tokens - num_generated
    for end in eos:
        if end in block[:room]:
            return block[: block.index(end) + 1], "eos"
    return block[:room], "length" if len(block) >= room else None


# %% block_one_over_the_budget fails a4.q2.block in commit
# You keep one token more than the budget allows.
# -     if num_generated + i + 1 == max_tokens:
# +     if num_generated + i == max_tokens:


# %% block_forgets_what_was_generated fails a4.q2.block
# You hold the block alone against the budget; what was generated before has used some of it.
def commit(block, num_generated, max_tokens, eos):
    for i, token in enumerate(block):
        if token in eos:
            return block[: i + 1], "eos"
        if i + 1 == max_tokens:
            return block[: i + 1], "length"
    return block, None


# %% block_other_word fails a4.q2.block in commit
# You have another word for the reason; it is "eos".
# -         return block[: i + 1], "eos"
# +         return block[: i + 1], "stop"


# %% block_token_zero fails a4.q2.block in commit
# Token 0 is never taken for an end token: you test the token for truth.
# -     if token in eos:
# +     if token and token in eos:


# %% compare_all_pairs fails a4.q8.compare
# You compare every plain run with every other; pair run i with run i, which met the same machine.
def compare(plain, speculative):
    ratios = [(a / n) / (b / m) for a, n in plain for b, m in speculative]
    return median(ratios), min(ratios), max(ratios)


# %% compare_best_of_each fails a4.q8.compare
# You compare the best run of each side; the best of several is not what a user gets.
def compare(plain, speculative):
    ratios = [(s / n) / (t / m) for (s, n), (t, m) in zip(plain, speculative)]
    return min(s / n for s, n in plain) / min(t / m for t, m in speculative), min(ratios), max(ratios)


# %% compare_first_run fails a4.q8.compare in compare
# You drop the first pair as a warm-up; every run that is handed in counts.
# - ratios = [(s / n) / (t / m) for (s, n), (t, m) in zip(plain, speculative, strict=True)]
# + ratios = [(s / n) / (t / m) for (s, n), (t, m) in zip(plain, speculative)]
# + ratios = ratios[1:] or ratios


# %% compare_inverted fails a4.q8.compare
# Your ratio is upside down: plain time over speculative time, so that more is faster.
right_compare = compare


def compare(plain, speculative):
    return right_compare(speculative, plain)


# %% compare_mean fails a4.q8.compare
# You take the mean of the ratios; one disturbed run moves it. Take the median.
def compare(plain, speculative):
    ratios = [(s / n) / (t / m) for (s, n), (t, m) in zip(plain, speculative)]
    return sum(ratios) / len(ratios), min(ratios), max(ratios)


# %% compare_medians fails a4.q8.compare
# You divide the median of one side by the median of the other; pair run i with run i, which met the same machine.
def compare(plain, speculative):
    ratios = [(s / n) / (t / m) for (s, n), (t, m) in zip(plain, speculative)]
    middle = median(s / n for s, n in plain) / median(t / m for t, m in speculative)
    return middle, min(ratios), max(ratios)


# %% compare_middle_run fails a4.q8.compare
# You take the ratio in the middle of the runs' order; sort the ratios first.
def compare(plain, speculative):
    ratios = [(s / n) / (t / m) for (s, n), (t, m) in zip(plain, speculative)]
    low, high = (len(ratios) - 1) // 2, len(ratios) // 2
    return (ratios[low] + ratios[high]) / 2, min(ratios), max(ratios)


# %% compare_totals fails a4.q8.compare
# You add all runs up; take the ratio of each pair, then the median.
def compare(plain, speculative):
    ratios = [(s / n) / (t / m) for (s, n), (t, m) in zip(plain, speculative)]

    def per_token(runs):
        return sum(s for s, _ in runs) / sum(n for _, n in runs)

    return per_token(plain) / per_token(speculative), min(ratios), max(ratios)


# %% compare_upper_median fails a4.q8.compare
# With an even number of pairs the median is the mean of the middle two.
def compare(plain, speculative):
    ratios = sorted((s / n) / (t / m) for (s, n), (t, m) in zip(plain, speculative))
    return ratios[len(ratios) // 2], ratios[0], ratios[-1]


# %% compare_whole_runs fails a4.q8.compare in compare
# You compare whole runs; they produced different numbers of tokens. Compare times per token.
# - ratios = [(s / n) / (t / m) for (s, n), (t, m) in zip(plain, speculative, strict=True)]
# + ratios = [s / t for (s, _), (t, _) in zip(plain, speculative)]


# %% counts_accepted_evaluated fails a4.q6.counts
# You leave the rejected draft out of the evaluated ones; it was judged too.
right_metrics = metrics


def metrics(steps):
    return right_metrics(steps) | {"num_evaluated_tokens": sum(min(s["accepted"], s["emitted"]) for s in steps)}


# %% counts_all_drafts_evaluated fails a4.q6.counts
# You count all drafts as evaluated; those behind the first rejection were never judged.
right_metrics = metrics


def metrics(steps):
    return right_metrics(steps) | {"num_evaluated_tokens": sum(step["drafted"] for step in steps)}


# %% counts_always_one_rejection fails a4.q6.counts
# You count one rejection per step; where all drafts were accepted there was none.
right_metrics = metrics


def metrics(steps):
    return right_metrics(steps) | {"num_evaluated_tokens": sum(min(s["accepted"] + 1, s["emitted"]) for s in steps)}


# %% counts_bonus_accepted fails a4.q6.counts
# You count the bonus or the replacement as accepted; it was never drafted.
right_metrics = metrics


def metrics(steps):
    return right_metrics(steps) | {"num_accepted_tokens": sum(step["emitted"] for step in steps)}


# %% counts_cut_block_accepted fails a4.q6.counts
# In a step that was cut you count all accepted drafts; those that were not emitted do not count.
right_metrics = metrics


def metrics(steps):
    figures = right_metrics(steps)
    return figures | {"num_accepted_tokens": sum(step["accepted"] for step in steps)}


# %% counts_cut_block_evaluated fails a4.q6.counts
# In a step that was cut you count drafts as evaluated that no emitted token answers.
right_metrics = metrics


def metrics(steps):
    figures = right_metrics(steps)
    judged = sum(min(step["drafted"], step["accepted"] + 1) for step in steps)
    return figures | {"num_evaluated_tokens": judged}


# %% counts_drafts_as_emitted fails a4.q6.counts
# You count no more drafts than were emitted; what was cut away was drafted, and paid for.
right_figures = metrics


def metrics(steps):
    told = right_figures([step | {"drafted": min(step["drafted"], step["emitted"])} for step in steps])
    evaluated = right_figures(steps)
    return told | {"num_evaluated_tokens": evaluated["num_evaluated_tokens"], "alpha": evaluated["alpha"]}


# %% counts_drafts_cut fails a4.q6.counts
# You leave out drafts that were cut away; they were drafted, and paid for.
right_metrics = metrics


def metrics(steps):
    drafted = sum(min(s["drafted"], s["emitted"]) if s["emitted"] <= s["accepted"] else s["drafted"] for s in steps)
    return right_metrics(steps) | {"num_draft_tokens": drafted}


# %% counts_fixed_gamma fails a4.q6.counts
# You take the longest draft's length for all steps; count what was drafted.
right_metrics = metrics


def metrics(steps):
    longest = max((step["drafted"] for step in steps), default=0)
    return right_metrics(steps) | {"num_draft_tokens": longest * len(steps)}


# %% counts_last_emitted_is_the_bonus fails a4.q6.counts
# You take the last token of every step for the target's own; in a step that was cut it may be a draft.
right_metrics = metrics


def metrics(steps):
    return right_metrics([step | {"accepted": step["emitted"] - 1} for step in steps])


# %% counts_steps_with_drafts fails a4.q6.counts
# A step without drafts is a target forward too.
right_metrics = metrics


def metrics(steps):
    return right_metrics(steps) | {"num_steps": sum(step["drafted"] > 0 for step in steps)}


# %% counts_tokens_without_bonus fails a4.q6.counts
# Your tokens are the accepted drafts only; every emitted token counts.
right_metrics = metrics


def metrics(steps):
    return right_metrics(steps) | {"num_tokens": sum(min(step["accepted"], step["emitted"]) for step in steps)}


# %% cut_at_the_end_only fails a4.q3.cut
# You look for a stop only at the end of the text; it may stand anywhere.
def cut(text, stops):
    complete = [stop for stop in stops if text.endswith(stop)]
    return (text[: len(text) - len(max(complete, key=len))], max(complete, key=len)) if complete else (text, None)


# %% cut_behind_the_stop fails a4.q3.cut
# You return the text behind the stop; the text before it is wanted.
right_cut = cut


def cut(text, stops):
    before, stop = right_cut(text, stops)
    return (text if stop is None else text[len(before) + len(stop) :]), stop


# %% cut_earliest_begin fails a4.q3.cut
# You cut at the stop that begins first; the one that is *completed* first counts.
def cut(text, stops):
    found = [(text.index(stop), -len(stop), stop) for stop in stops if stop in text]
    return (text[: min(found)[0]], min(found)[2]) if found else (text, None)


# %% cut_earliest_begin_then_alphabet fails a4.q3.cut
# You cut at the stop that begins first; the one that is *completed* first counts, and of those the longest.
def cut(text, stops):
    found = [(text.index(stop), stop) for stop in stops if stop in text]
    return (text[: min(found)[0]], min(found)[1]) if found else (text, None)


# %% cut_empty_for_none fails a4.q3.cut
# Where there is no stop you return an empty text for it; return None.
right_cut = cut


def cut(text, stops):
    before, stop = right_cut(text, stops)
    return before, stop or ""


# %% cut_first_in_the_list fails a4.q3.cut
# You cut at the first stop of the list that occurs; the one completed first in the text counts.
def cut(text, stops):
    for stop in stops:
        if stop in text:
            return text[: text.index(stop)], stop
    return text, None


# %% cut_first_listed_of_completed fails a4.q3.cut
# Of two stops completed by the same character you take the one that is first in the list; the longest counts.
def cut(text, stops):
    for end in range(1, len(text) + 1):
        for stop in stops:
            if text[:end].endswith(stop):
                return text[: end - len(stop)], stop
    return text, None


# %% cut_ignores_case fails a4.q3.cut in cut
# You ignore upper and lower case.
# -     complete = [stop for stop in stops if text[:end].endswith(stop)]
# +     complete = [stop for stop in stops if text[:end].lower().endswith(stop.lower())]


# %% cut_keeps_the_stop fails a4.q3.cut in cut
# You keep the stop in the text; the text ends before it.
# -         stop = max(complete, key=len)
# -         return text[: end - len(stop)], stop
# +         return text[:end], max(complete, key=len)


# %% cut_last_listed_of_completed fails a4.q3.cut
# Of two stops completed by the same character you take the one that is last in the list; the longest counts.
def cut(text, stops):
    for end in range(1, len(text) + 1):
        for stop in reversed(stops):
            if text[:end].endswith(stop):
                return text[: end - len(stop)], stop
    return text, None


# %% cut_last_occurrence fails a4.q3.cut in cut
# You cut at the last occurrence of a stop; the first one ends the text.
# - for end in range(1, len(text) + 1):
# + for end in range(len(text), 0, -1):


# %% cut_last_of_each fails a4.q3.cut
# You look for the last place at which a stop stands; the first one ends the text.
def cut(text, stops):
    ends = [(text.rfind(stop) + len(stop), -len(stop), stop) for stop in stops if stop in text]
    if not ends:
        return text, None
    end, _, stop = min(ends)
    return text[: end - len(stop)], stop


# %% cut_longest_anywhere fails a4.q3.cut
# You look for the longest stop in the whole text before the others; the one that is completed first counts.
def cut(text, stops):
    for stop in sorted(stops, key=len, reverse=True):
        if stop in text:
            return text[: text.index(stop)], stop
    return text, None


# %% cut_regular_expression fails a4.q3.cut
# You read stops as regular expressions; they are plain text: re.escape, or no re at all.
import re


def cut(text, stops):
    for end in range(1, len(text) + 1):
        complete = [found for stop in stops if (found := re.search(f"(?:{stop})$", text[:end]))]
        if complete:
            found = max(complete, key=lambda one: len(one[0]))
            return text[: found.start()], stops[complete.index(found)]
    return text, None


# %% cut_shortest fails a4.q3.cut in cut
# Of two stops completed by the same character you take the shorter; the longest counts.
# -         stop = max(complete, key=len)
# +         stop = min(complete, key=len)


# %% cut_strips fails a4.q3.cut
# You strip white space from the text; it belongs to it.
right_cut = cut


def cut(text, stops):
    kept, stop = right_cut(text, stops)
    return kept.strip(), stop and stop.strip()


# %% decode_all_or_nothing fails a4.q5.characters
# You hold everything back while any byte is missing; characters that are complete can be shown.
def decode(held, piece, final):
    data = held + piece
    try:
        return data.decode("utf-8"), b""
    except UnicodeDecodeError:
        return (data.decode("utf-8", "replace"), b"") if final else ("", data)


# %% decode_drops_the_held fails a4.q5.characters in decode
# The bytes you hold back are lost: put them before the next piece.
# - text = decoder.decode(held + piece, final)
# + text = decoder.decode(piece, final)


# %% decode_drops_the_unfinished fails a4.q5.characters
# You throw away what is unfinished at the end; it becomes U+FFFD.
def decode(held, piece, final):
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    text = decoder.decode(held + piece)
    return text, b"" if final else decoder.getstate()[0]


# %% decode_falls_back_to_latin fails a4.q5.characters
# You read bytes that are no UTF-8 as Latin-1; they become U+FFFD.
def decode(held, piece, final):
    try:
        return (held + piece).decode("utf-8"), b""
    except UnicodeDecodeError as error:
        if error.reason == "unexpected end of data" and not final:
            return (held + piece)[: error.start].decode("utf-8"), (held + piece)[error.start :]
        return (held + piece).decode("latin-1"), b""


# %% decode_holds_one_byte_at_most fails a4.q5.characters
# You hold back one byte at most; a character may lack up to three.
def decode(held, piece, final):
    data = held + piece
    if not final and data and data[-1] >= 0xC0:
        return data[:-1].decode("utf-8", "replace"), data[-1:]
    return data.decode("utf-8", "replace"), b""


# %% decode_ignores_errors fails a4.q5.characters
# You drop bytes that are no character; they become U+FFFD.
def decode(held, piece, final):
    decoder = codecs.getincrementaldecoder("utf-8")("ignore")
    return decoder.decode(held + piece, final), decoder.getstate()[0]


# %% decode_latin fails a4.q5.characters
# You take each byte for a character; UTF-8 characters have up to four bytes.
def decode(held, piece, final):
    return (held + piece).decode("latin-1"), b""


# %% decode_loses_the_held_at_the_end fails a4.q5.characters
# With the last piece you lose what was held back; it belongs in front of it.
def decode(held, piece, final):
    if final:
        return piece.decode("utf-8", "replace"), b""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    return decoder.decode(held + piece), decoder.getstate()[0]


# %% decode_never_flushes fails a4.q5.characters in decode
# At the end you still hold bytes back; an unfinished character becomes U+FFFD then.
# - text = decoder.decode(held + piece, final)
# - return text, decoder.getstate()[0]
# + return decoder.decode(held + piece, False), decoder.getstate()[0]


# %% decode_piece_by_piece fails a4.q5.characters
# You decode each piece on its own: a character that spans two tokens becomes two replacement characters.
def decode(held, piece, final):
    return piece.decode("utf-8", "replace"), b""


# %% decode_waits_for_the_end fails a4.q5.characters
# You hold everything back until nothing follows; what is complete may be shown.
def decode(held, piece, final):
    if not final:
        return "", held + piece
    return (held + piece).decode("utf-8", "replace"), b""


# %% decode_question_marks fails a4.q5.characters
# You put something else where bytes are no character; it is U+FFFD, as "replace" gives.
right_decode = decode


def decode(held, piece, final):
    text, rest = right_decode(held, piece, final)
    return text.replace("\ufffd", "?"), rest


# %% decode_strict fails a4.q5.characters
# You raise an error on bytes that are no character; they become U+FFFD.
def decode(held, piece, final):
    decoder = codecs.getincrementaldecoder("utf-8")("strict")
    return decoder.decode(held + piece, final), decoder.getstate()[0]


# %% decode_trims_until_it_fits fails a4.q5.characters
# You take bytes off the end until the rest is valid; a byte that can be no character, anywhere before them, then holds everything back.
def decode(held, piece, final):
    data = held + piece
    if final:
        return data.decode("utf-8", "replace"), b""
    for size in range(min(4, len(data) + 1)):
        try:
            return data[: len(data) - size].decode(), data[len(data) - size :]
        except UnicodeDecodeError:
            pass
    return "", data


# %% decode_trusts_the_first_byte fails a4.q5.characters
# You read from the first byte how many follow, and take them without a look: a byte that cannot follow ends the character there, and may begin the next.
def decode(held, piece, final):
    data, text, at = held + piece, "", 0
    while at < len(data):
        size = 1 + sum(data[at] >= limit for limit in (0x80, 0xE0, 0xF0))
        if at + size > len(data) and not final:
            break
        text += data[at : at + size].decode("utf-8", "replace")
        at += size
    return text, data[at:]


# %% latency_all_but_one fails a4.q7.latency
# You divide by all tokens but one; a first step may bring several at once, and none of them took that time.
def latency(start, arrivals):
    if not arrivals:
        return None, None
    total = sum(count for _, count in arrivals) - 1
    return arrivals[0][0] - start, (arrivals[-1][0] - arrivals[0][0]) / total if total else None


# %% latency_all_tokens fails a4.q7.latency
# You divide by all tokens; those of the first arrival took none of that time.
def latency(start, arrivals):
    if not arrivals:
        return None, None
    total = sum(count for _, count in arrivals)
    later = arrivals[-1][0] - arrivals[0][0]
    return arrivals[0][0] - start, later / total if len(arrivals) > 1 else None


# %% latency_everything_over_everything fails a4.q7.latency
# You divide the whole time by all tokens: that is throughput, with the prefill in it.
def latency(start, arrivals):
    if not arrivals:
        return None, None
    total = sum(count for _, count in arrivals)
    return arrivals[0][0] - start, (arrivals[-1][0] - start) / total


# %% latency_first_from_zero fails a4.q7.latency
# You take the first arrival's time as it is; subtract the start.
right_latency = latency


def latency(start, arrivals):
    return right_latency(0.0, arrivals)


# %% latency_from_the_start fails a4.q7.latency
# Your time per token includes the time to the first token.
def latency(start, arrivals):
    if not arrivals:
        return None, None
    later = sum(count for _, count in arrivals[1:])
    return arrivals[0][0] - start, (arrivals[-1][0] - start) / later if later else None


# %% latency_per_step fails a4.q7.latency
# You measure the time per step; a step brings several tokens.
def latency(start, arrivals):
    if not arrivals:
        return None, None
    steps = len(arrivals) - 1
    return arrivals[0][0] - start, (arrivals[-1][0] - arrivals[0][0]) / steps if steps else None


# %% latency_zero_for_nothing fails a4.q7.latency
# Where there is nothing to measure you say 0; say None.
def latency(start, arrivals):
    if not arrivals:
        return 0.0, 0.0
    later = sum(count for _, count in arrivals[1:])
    return arrivals[0][0] - start, (arrivals[-1][0] - arrivals[0][0]) / later if later else 0.0


# %% latency_zero_for_one_arrival fails a4.q7.latency
# After a single arrival there is no time per token to measure, and you say 0; say None.
def latency(start, arrivals):
    if not arrivals:
        return None, None
    later = sum(tokens for _, tokens in arrivals[1:])
    return arrivals[0][0] - start, (arrivals[-1][0] - arrivals[0][0]) / later if later else 0.0


# %% positions_as_rates fails a4.q6.positions
# You return rates; counts are wanted.
right_metrics = metrics


def metrics(steps):
    figures = right_metrics(steps)
    per_position = figures["num_accepted_tokens_per_pos"]
    return figures | {"num_accepted_tokens_per_pos": [n / len(steps) for n in per_position]}


# %% positions_cut_block fails a4.q6.positions
# In a step that was cut you count positions that were never emitted.
right_metrics = metrics


def metrics(steps):
    figures = right_metrics(steps)
    size = len(figures["num_accepted_tokens_per_pos"])
    return figures | {"num_accepted_tokens_per_pos": [sum(s["accepted"] > i for s in steps) for i in range(size)]}


# %% positions_exact_count fails a4.q6.positions
# Your entry i counts the steps that accepted exactly i + 1 drafts; count those that accepted draft i: at least i + 1.
right_metrics = metrics


def metrics(steps):
    figures = right_metrics(steps)
    size = len(figures["num_accepted_tokens_per_pos"])
    exact = [sum(min(s["accepted"], s["emitted"]) == i + 1 for s in steps) for i in range(size)]
    return figures | {"num_accepted_tokens_per_pos": exact}


# %% positions_trimmed fails a4.q6.positions
# You leave out positions where nothing was accepted; the list is as long as the longest draft.
right_metrics = metrics


def metrics(steps):
    figures = right_metrics(steps)
    return figures | {"num_accepted_tokens_per_pos": [n for n in figures["num_accepted_tokens_per_pos"] if n]}


# %% positions_with_the_bonus fails a4.q6.positions
# You have an entry more than drafts: the bonus has no position in the draft.
right_metrics = metrics


def metrics(steps):
    figures = right_metrics(steps)
    size = max((s["drafted"] for s in steps), default=0) + 1
    return figures | {"num_accepted_tokens_per_pos": [sum(s["emitted"] > i for s in steps) for i in range(size)]}


# %% ratios_alpha_is_rate fails a4.q6.ratios
# Your alpha is accepted / drafted; it is accepted / evaluated.
right_metrics = metrics


def metrics(steps):
    figures = right_metrics(steps)
    return figures | {"alpha": figures["draft_acceptance_rate"]}


# %% ratios_length_of_drafting_steps fails a4.q6.ratios
# You divide by the steps that drafted; a step without drafts is a target forward too.
right_metrics = metrics


def metrics(steps):
    figures, drafting = right_metrics(steps), sum(step["drafted"] > 0 for step in steps)
    return figures | {"mean_acceptance_length": figures["num_tokens"] / drafting if drafting else None}


# %% ratios_length_of_steps_with_drafts fails a4.q6.ratios
# You leave out the steps without drafts; each of them is a target forward, and its token counts.
right_metrics = metrics


def metrics(steps):
    drafting = [step for step in steps if step["drafted"]]
    tokens = sum(step["emitted"] for step in drafting)
    return right_metrics(steps) | {"mean_acceptance_length": tokens / len(drafting) if drafting else None}


# %% ratios_length_without_bonus fails a4.q6.ratios
# Your mean acceptance length is accepted drafts per step; it is tokens per step, bonus and replacement included.
right_metrics = metrics


def metrics(steps):
    figures = right_metrics(steps)
    return figures | {"mean_acceptance_length": figures["num_accepted_tokens"] / len(steps) if steps else None}


# %% ratios_mean_of_steps fails a4.q6.ratios
# You average the steps' ratios; divide the sums.
right_metrics = metrics


def metrics(steps):
    rates = [min(s["accepted"], s["emitted"]) / s["drafted"] for s in steps if s["drafted"]]
    return right_metrics(steps) | {"draft_acceptance_rate": sum(rates) / len(rates) if rates else None}


# %% ratios_rate_is_alpha fails a4.q6.ratios
# Your acceptance rate is accepted / evaluated; it is accepted / drafted.
right_metrics = metrics


def metrics(steps):
    figures = right_metrics(steps)
    return figures | {"draft_acceptance_rate": figures["alpha"]}


# %% ratios_zero_for_nothing fails a4.q6.ratios
# Where there is nothing to divide by you say 0; say None.
right_metrics = metrics


def metrics(steps):
    return {name: 0.0 if value is None else value for name, value in right_metrics(steps).items()}


# %% release_all_at_once_only fails a4.q4.stream in release
# You hold back only where the whole text so far may be a stop; its end alone may begin one.
# - for start in range(len(text)):
# -     if any(stop.startswith(text[start:]) for stop in stops):
# -         return text[:start], text[start:], None
# + if any(one.startswith(text) for one in stops):
# +     return "", text, None


# %% release_cuts_at_minus_zero fails a4.q4.piece
# Where nothing is to be held back you show nothing: text[:-0] is empty, and text[-0:] all of it.
def release(held, piece, stops):
    text = held + piece
    shown, stop = cut(text, stops)
    if stop is not None:
        return shown, "", stop
    size = max((k for stop in stops for k in range(1, len(stop)) if text.endswith(stop[:k])), default=0)
    return text[:-size], text[-size:], None


# %% release_everything fails a4.q4.piece
# You show everything at once: the beginning of a stop is on the screen before you know that it is one.
def release(held, piece, stops):
    text, stop = cut(held + piece, stops)
    return text, "", stop


# %% release_first_stop_only fails a4.q4.piece in release
# You hold back for the first stop of the list only.
# -     if any(stop.startswith(text[start:]) for stop in stops):
# +     if stops and stops[0].startswith(text[start:]):


# %% release_first_that_fits fails a4.q4.piece
# You hold back for the first stop of the list that may begin; of all stops the longest end counts.
def release(held, piece, stops):
    text = held + piece
    shown, stop = cut(text, stops)
    if stop is not None:
        return shown, "", stop
    for stop in stops:
        for size in range(min(len(stop) - 1, len(text)), 0, -1):
            if text.endswith(stop[:size]):
                return text[:-size], text[-size:], None
    return text, "", None


# %% release_forgets_the_held fails a4.q4.stream in release
# What was held back and turns out to be harmless is never shown.
# -     if any(stop.startswith(text[start:]) for stop in stops):
# -         return text[:start], text[start:], None
# - return text, "", None
# +     if any(one.startswith(text[start:]) for one in stops):
# +         return text[len(held) : start], text[start:], None
# + return text[len(held) :], "", None


# %% release_holds_any_character fails a4.q4.piece
# You hold back from the first character that occurs in a stop; only an end that *begins* a stop is in danger.
def release(held, piece, stops):
    text, stop = cut(held + piece, stops)
    if stop is not None:
        return text, "", stop
    letters = set("".join(stops))
    place = len(text)
    while place and text[place - 1] in letters:
        place -= 1
    return text[:place], text[place:], None


# %% release_holds_fixed_length fails a4.q4.piece
# You always hold back as many characters as the longest stop has, less one; hold back only what may begin a stop.
def release(held, piece, stops):
    text, stop = cut(held + piece, stops)
    if stop is not None:
        return text, "", stop
    size = max([len(one) - 1 for one in stops], default=0)
    place = max(0, len(text) - size)
    return text[:place], text[place:], None


# %% release_holds_from_a_first_character fails a4.q4.piece
# You hold back from the first place where a stop's first character stands; only an end of the text that begins a stop is in danger.
def release(held, piece, stops):
    text, stop = cut(held + piece, stops)
    if stop is not None:
        return text, "", stop
    start = min((text.index(one[0]) for one in stops if one[0] in text), default=len(text))
    return text[:start], text[start:], None


# %% release_holds_shortest fails a4.q4.piece in release
# You hold back the shortest end that may begin a stop; the longest is needed.
# - for start in range(len(text)):
# -     if any(stop.startswith(text[start:]) for stop in stops):
# + for start in reversed(range(len(text))):
# +     if any(one.startswith(text[start:]) for one in stops):


# %% release_holds_whole_piece fails a4.q4.piece in release
# You hold the whole piece back where its end may begin a stop; what comes before that end is safe.
# - for start in range(len(text)):
# -     if any(stop.startswith(text[start:]) for stop in stops):
# -         return text[:start], text[start:], None
# + if any(one.startswith(text[start:]) for one in stops for start in range(len(text))):
# +     return "", text, None


# %% release_holds_words fails a4.q4.piece
# You hold back the last word until a space follows; hold back only what may begin a stop.
def release(held, piece, stops):
    text, stop = cut(held + piece, stops)
    if stop is not None:
        return text, "", stop
    end = text.rfind(" ") + 1
    return text[:end], text[end:], None


# %% release_keeps_holding_after_the_stop fails a4.q4.piece in release
# After a stop you still hold text back; nothing follows it any more.
# -     return text, "", stop
# - for start in range(len(text)):
# -     if any(stop.startswith(text[start:]) for stop in stops):
# +     return text, (held + piece)[len(text) + len(stop) :], stop
# + for start in range(len(text)):
# +     if any(one.startswith(text[start:]) for one in stops):


# %% release_looks_at_the_piece_only fails a4.q4.piece
# You look for the beginning of a stop in the new piece only; it may have begun in what was held back.
def release(held, piece, stops):
    text = held + piece
    shown, stop = cut(text, stops)
    if stop is not None:
        return shown, "", stop
    for i in range(len(piece)):
        if any(stop.startswith(piece[i:]) for stop in stops):
            return held + piece[:i], piece[i:], None
    return text, "", None


# %% release_loses_what_came_before fails a4.q4.piece
# Where a stop is found you show nothing; the text before it has to be shown.
right_release = release


def release(held, piece, stops):
    shown, rest, stop = right_release(held, piece, stops)
    return ("" if stop else shown), rest, stop


# %% release_nothing_for_nothing fails a4.q4.piece
# For an empty piece you forget what was held back; it is still held.
def release(held, piece, stops):
    if not piece:
        return "", "", None
    text = held + piece
    shown, stop = cut(text, stops)
    if stop is not None:
        return shown, "", stop
    for i in range(len(text)):
        if any(stop.startswith(text[i:]) for stop in stops):
            return text[:i], text[i:], None
    return text, "", None


# %% release_one_character_at_most fails a4.q4.piece
# You hold back one character at most; the beginning of a stop may be longer.
def release(held, piece, stops):
    text = held + piece
    shown, stop = cut(text, stops)
    if stop is not None:
        return shown, "", stop
    if text and any(stop.startswith(text[-1]) for stop in stops):
        return text[:-1], text[-1], None
    return text, "", None


# %% release_piece_by_piece fails a4.q4.piece
# You look for the stop in the new piece only; a stop may begin in what is held back.
def release(held, piece, stops):
    text, stop = cut(piece, stops)
    if stop is not None:
        return held + text, "", stop
    for start in range(len(held + piece)):
        if any(one.startswith((held + piece)[start:]) for one in stops):
            return (held + piece)[:start], (held + piece)[start:], None
    return held + piece, "", None


# %% release_shows_the_held fails a4.q4.piece
# You look at the new piece only, and show at once what was held back; both together may be a stop, or its
# beginning.
def release(held, piece, stops):
    text, stop = cut(piece, stops)
    if stop is not None:
        return held + text, "", stop
    for start in range(len(text)):
        if any(one.startswith(text[start:]) for one in stops):
            return held + text[:start], text[start:], None
    return held + text, "", None


# %% release_shows_the_stop fails a4.q4.piece in release
# You show the stop itself.
# -     return text, "", stop
# - for start in range(len(text)):
# -     if any(stop.startswith(text[start:]) for stop in stops):
# +     return text + stop, "", stop
# + for start in range(len(text)):
# +     if any(one.startswith(text[start:]) for one in stops):


# %% retracted_against_the_last fails a4.q9.retracted in retracted
# You compare every screen with the last one; compare each with the next.
# - for before, after in pairwise(screens):
# -     shared = 0
# -     while shared < min(len(before), len(after)) and before[shared] == after[shared]:
# + for before in screens[:-1]:
# +     shared = 0
# +     while shared < min(len(before), len(screens[-1])) and before[shared] == screens[-1][shared]:


# %% retracted_counts_new_text fails a4.q9.retracted
# You count the characters that appear, not those that disappear.
right_retracted = retracted


def retracted(screens):
    return right_retracted(screens[::-1])


# %% retracted_counts_updates fails a4.q9.retracted
# You count how often text is taken back; count the characters.
def retracted(screens):
    return sum(not after.startswith(before) for before, after in zip(screens, screens[1:]))


# %% retracted_differing_characters fails a4.q9.retracted
# You count characters that differ in place; behind the first difference all of the old text is taken back.
def retracted(screens):
    lost = 0
    for before, after in zip(screens, screens[1:]):
        lost += sum(a != b for a, b in zip(before, after)) + max(0, len(before) - len(after))
    return lost


# %% retracted_length_only fails a4.q9.retracted
# You compare lengths; text of the same length may have changed.
def retracted(screens):
    return sum(max(0, len(before) - len(after)) for before, after in zip(screens, screens[1:]))


# %% retracted_whole_screens fails a4.q9.retracted
# You take the whole screen for gone where anything changed; what both begin with stays.
def retracted(screens):
    return sum(0 if after.startswith(before) else len(before) for before, after in pairwise(screens))


# %% retracted_words fails a4.q9.retracted
# You count words; count characters.
def retracted(screens):
    lost = 0
    for before, after in zip(screens, screens[1:]):
        old, new = before.split(), after.split()
        shared = 0
        while shared < min(len(old), len(new)) and old[shared] == new[shared]:
            shared += 1
        lost += len(old) - shared
    return lost


# %% room_all_or_nothing fails a4.q1.room
# Near the end you draft nothing at all; draft as many as still fit.
def num_drafts(gamma, num_generated, max_tokens, num_prompt, n_positions):
    return gamma if min(max_tokens, n_positions - num_prompt) - num_generated > gamma else 0


# %% room_always_gamma fails a4.q1.room
# You always draft gamma tokens: the last step overshoots.
def num_drafts(gamma, num_generated, max_tokens, num_prompt, n_positions):
    return gamma


# %% room_at_least_one fails a4.q1.room in num_drafts
# With room for one token you still draft one; the target's own token fills it.
# - return max(0, min(gamma, room - 1))
# + return max(0, min(gamma, max(1, room - 1))) if room > 0 else 0


# %% room_context_without_generated fails a4.q1.room
# The generated tokens take room in the context too.
def num_drafts(gamma, num_generated, max_tokens, num_prompt, n_positions):
    return max(0, min(gamma, max_tokens - num_generated - 1, n_positions - num_prompt - 1))


# %% room_context_without_prompt fails a4.q1.room
# The prompt takes room in the context too.
def num_drafts(gamma, num_generated, max_tokens, num_prompt, n_positions):
    return max(0, min(gamma, min(max_tokens, n_positions) - num_generated - 1))


# %% room_counts_the_prompt fails a4.q1.room
# You count the prompt against max_tokens; only generated tokens count.
def num_drafts(gamma, num_generated, max_tokens, num_prompt, n_positions):
    return max(0, min(gamma, min(max_tokens, n_positions) - num_prompt - num_generated - 1))


# %% room_forgets_the_budget fails a4.q1.room
# You forget max_tokens.
def num_drafts(gamma, num_generated, max_tokens, num_prompt, n_positions):
    return max(0, min(gamma, n_positions - num_prompt - num_generated - 1))


# %% room_forgets_the_context fails a4.q1.room
# You forget the context: prompt and generated tokens together fit n_positions.
def num_drafts(gamma, num_generated, max_tokens, num_prompt, n_positions):
    return max(0, min(gamma, max_tokens - num_generated - 1))


# %% room_negative fails a4.q1.room
# Where no room is left you return a negative number; return 0.
def num_drafts(gamma, num_generated, max_tokens, num_prompt, n_positions):
    return min(gamma, min(max_tokens, n_positions - num_prompt) - num_generated - 1)


# %% room_one_context_short fails a4.q1.room
# You leave the last place of the context empty: prompt and generated tokens may fill all n_positions.
def num_drafts(gamma, num_generated, max_tokens, num_prompt, n_positions):
    return max(0, min(gamma, min(max_tokens, n_positions - num_prompt - 1) - num_generated - 1))


# %% room_overshoots fails a4.q1.room
# You draft as many tokens as there is room for; the step emits one more than it drafts: room - 1.
def num_drafts(gamma, num_generated, max_tokens, num_prompt, n_positions):
    return max(0, min(gamma, min(max_tokens, n_positions - num_prompt) - num_generated))


# %% room_overshoots_the_context fails a4.q1.room
# You leave room for the target's own token in max_tokens, but not in the context.
def num_drafts(gamma, num_generated, max_tokens, num_prompt, n_positions):
    return max(0, min(gamma, max_tokens - num_generated - 1, n_positions - num_prompt - num_generated))
