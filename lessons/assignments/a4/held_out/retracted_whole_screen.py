"""Any change takes the whole screen back."""

FAILS = "a4.q9.retracted"
MISTAKE = ""


def retracted(screens):
    return sum(len(old) for old, new in zip(screens, screens[1:]) if not new.startswith(old))
