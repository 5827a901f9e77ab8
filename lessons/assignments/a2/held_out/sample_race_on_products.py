"""Multiplies where it should divide."""

FAILS = "a2.q3.law"
MISTAKE = "sample_race_multiplied"


def sample(probs, uniforms):
    clocks = -np.log(1 - uniforms)
    clocks = np.where(probs > 0, clocks * probs, np.inf)
    return int(clocks.argmin())
