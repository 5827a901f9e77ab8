"""Other right ways to write A5; each gets full points."""


# %% longest_match
# The longest match decides how much is copied; otherwise one fixed rule for the draft model.
def plan(tokens, history, c, row):
    for size in range(6, 1, -1):
        copied = continuation(tokens, size, size + 2)
        if copied:
            return {"copy": copied}
    recent = [step for step in history if step["drafted"] and not step["copied"]][-8:]
    good = sum(step["accepted"] for step in recent) >= len(recent) * (c + row)
    return {"gamma": (2 if c < 0.3 else 1) if good else 0, "stop_below": 0.5}


# %% only_copies
# No draft model at all: copy what followed the last time, as long as that goes well.
def plan(tokens, history, c, row):
    for size in (4, 3, 2):
        copied = continuation(tokens, size, 6)
        if copied:
            return {"copy": copied if history[-3:] and any(step["accepted"] for step in history[-3:]) else copied[:2]}
    return {"gamma": 0, "stop_below": 0.0}
