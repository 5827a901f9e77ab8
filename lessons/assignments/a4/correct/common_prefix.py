"""Retractions through os.path.commonprefix."""

from os.path import commonprefix


def retracted(screens):
    return sum(len(old) - len(commonprefix([old, new])) for old, new in zip(screens[:-1], screens[1:], strict=True))
