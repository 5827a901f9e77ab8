"""text.split(stop) in the order of the list."""

FAILS = "a4.q3.cut"
MISTAKE = "cut_first_in_the_list"


def cut(text, stops):
    for stop in stops:
        parts = text.split(stop)
        if len(parts) > 1:
            return parts[0], stop
    return text, None
