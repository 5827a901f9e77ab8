"""You return the likeliest token every time; draw one."""

FAILS = "a2.q3.law"


def sample(probs, uniforms):
    return int(np.argmax(probs))
