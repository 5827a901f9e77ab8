"""You read stops as regular expressions; they are plain text: re.escape, or no re at all."""

FAILS = "a4.q3.cut"

import re


def cut(text, stops):
    for end in range(1, len(text) + 1):
        complete = [found for stop in stops if (found := re.search(f"(?:{stop})$", text[:end]))]
        if complete:
            found = max(complete, key=lambda one: len(one[0]))
            return text[: found.start()], stops[complete.index(found)]
    return text, None
