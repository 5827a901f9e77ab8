"""rfind."""

FAILS = "a4.q3.cut"
MISTAKE = "cut_last_occurrence"


def cut(text, stops):
    places = [(text.rfind(stop) + len(stop), -len(stop), stop) for stop in stops if stop in text]
    if not places:
        return text, None
    end, _, stop = min(places)
    return text[: end - len(stop)], stop
