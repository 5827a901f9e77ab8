"""Of several that are complete at once, takes the shortest."""

FAILS = "a4.q3.cut"
MISTAKE = "cut_shortest"


def cut(text, stops):
    stops = sorted(stops, key=len)
    so_far = ""
    for character in text:
        so_far += character
        for stop in stops:
            if so_far.endswith(stop):
                return so_far.removesuffix(stop), stop
    return text, None
