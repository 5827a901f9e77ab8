"""Stops by str.find in the whole text; what to hold back by trying lengths from the longest."""


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
