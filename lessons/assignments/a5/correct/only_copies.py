"""No draft model at all: copy what followed the last time, as long as that goes well."""


def plan(tokens, history, c, row):
    for size in (4, 3, 2):
        copied = continuation(tokens, size, 6)
        if copied:
            return {"copy": copied if history[-3:] and any(step["accepted"] for step in history[-3:]) else copied[:2]}
    return {"gamma": 0, "stop_below": 0.0}
