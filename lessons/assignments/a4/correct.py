"""Other right ways to write A4; each gets full points."""


# %% bytes_by_hand
# UTF-8 without the codec's memory: look for the beginning of an unfinished character among the last three bytes.
def decode(held, piece, final):
    data = held + piece
    if not final:
        for back in range(1, min(3, len(data)) + 1):
            lead = data[-back]
            if lead >= 0xC0:
                wanted = 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4 if lead < 0xF5 else 1
                if wanted > back:
                    return data[:-back].decode("utf-8", errors="replace"), data[-back:]
                break
            if lead < 0x80:
                break
    return str(data, "utf-8", "replace"), bytes()


# %% common_prefix
# Retractions through os.path.commonprefix.
from os.path import commonprefix


def retracted(screens):
    return sum(len(old) - len(commonprefix([old, new])) for old, new in zip(screens[:-1], screens[1:], strict=True))


# %% one_character_at_a_time
# A stream as a loop over characters, as the definition says it.
def release(held, piece, stops):
    shown, window = "", held
    for character in piece:
        window += character
        complete = [stop for stop in stops if window.endswith(stop)]
        if complete:
            return shown + window[: -len(max(complete, key=len))], "", max(complete, key=len)
        while window and not any(stop.startswith(window) for stop in stops):
            shown, window = shown + window[0], window[1:]
    return shown, window, None


def commit(block, num_generated, max_tokens, eos):
    kept, reason = (), None
    for token in block:
        kept += (token,)
        if token in set(eos):
            reason = "eos"
        elif len(kept) + num_generated >= max_tokens:
            reason = "length"
        if reason:
            break
    return kept, reason


# %% searching
# Stops by str.find in the whole text; what to hold back by trying lengths from the longest.
def cut(text, stops):
    found = [(text.find(stop) + len(stop), -len(stop), stop) for stop in stops if stop in text]
    if not found:
        return text, None
    end, minus_length, stop = min(found)
    return text[: end + minus_length], stop


def release(held, piece, stops):
    text = held + piece
    kept, stop = cut(text, stops)
    if stop:
        return kept, "", stop
    longest = max(map(len, stops), default=1) - 1
    for size in range(min(longest, len(text)), 0, -1):
        if any(stop[:size] == text[len(text) - size :] for stop in stops):
            return text[:-size], text[-size:], None
    return text, "", None


# %% slices_and_sets
# Cutting by slices; room by three bounds.
def num_drafts(gamma, num_generated, max_tokens, num_prompt, n_positions):
    bounds = (gamma, max_tokens - num_generated - 1, n_positions - num_prompt - num_generated - 1, 0)
    return max(bounds[3], min(bounds[:3]))


def commit(block, num_generated, max_tokens, eos):
    within = list(block)[: max_tokens - num_generated]
    places = [i for i, token in enumerate(within) if token in eos]
    if places:
        return within[: places[0] + 1], "eos"
    return within, ("length" if len(within) + num_generated == max_tokens else None)


# %% with_numpy
# Figures with NumPy; its scalars are returned.
import numpy as np


def metrics(steps):
    table = np.array([[step["drafted"], step["accepted"], step["emitted"]] for step in steps], int).reshape(-1, 3)
    drafted, accepted, emitted = table.T
    accepted_emitted = np.minimum(accepted, emitted)
    rejected = (accepted < drafted) & (emitted > accepted)
    evaluated = accepted_emitted + rejected
    longest = int(drafted.max()) if len(table) else 0

    def ratio(a, b):
        return np.float64(a) / b if b else None

    return {
        "num_tokens": emitted.sum(),
        "num_steps": np.int64(len(table)),
        "num_draft_tokens": drafted.sum(),
        "num_accepted_tokens": accepted_emitted.sum(),
        "num_evaluated_tokens": evaluated.sum(),
        "num_accepted_tokens_per_pos": (accepted_emitted[:, None] > np.arange(longest)).sum(axis=0),
        "mean_acceptance_length": ratio(emitted.sum(), len(table)),
        "draft_acceptance_rate": ratio(accepted_emitted.sum(), drafted.sum()),
        "alpha": ratio(accepted_emitted.sum(), evaluated.sum()),
    }


def compare(plain, speculative):
    a, b = np.array(plain, float), np.array(speculative, float)
    ratios = (a[:, 0] * b[:, 1]) / (a[:, 1] * b[:, 0])
    return [np.median(ratios), ratios.min(), ratios.max()]


def latency(start, arrivals):
    if len(arrivals) == 0:
        return [None, None]
    times, counts = np.array(arrivals, float).T
    rest = counts[1:].sum()
    return times[0] - start, (np.diff(times).sum() / rest if rest else None)
