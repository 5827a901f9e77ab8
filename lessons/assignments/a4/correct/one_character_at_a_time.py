"""A stream as a loop over characters, as the definition says it."""


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
