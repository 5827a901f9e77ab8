"""The longest match decides how much is copied; otherwise one fixed rule for the draft model."""


def plan(tokens, history, c, row):
    for size in range(6, 1, -1):
        copied = continuation(tokens, size, size + 2)
        if copied:
            return {"copy": copied}
    recent = [step for step in history if step["drafted"] and not step["copied"]][-8:]
    good = sum(step["accepted"] for step in recent) >= len(recent) * (c + row)
    return {"gamma": (2 if c < 0.3 else 1) if good else 0, "stop_below": 0.5}
