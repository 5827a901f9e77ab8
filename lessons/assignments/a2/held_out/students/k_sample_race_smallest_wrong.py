"""Runs the race with the rates upside down."""

FAILS = "a2.q3.law"
MISTAKE = "sample_race_multiplied"


def sample(probs, uniforms):
    live = np.flatnonzero(probs > 0)
    times = -np.log1p(-uniforms[live]) * probs[live]
    return int(live[np.argmin(times)])
