"""Who handed a submission in, as far as the learning platforms write it into the names of what they export."""

from __future__ import annotations

import re
from dataclasses import dataclass

MOODLE, CANVAS = "Moodle", "Canvas"
_NAMES = {
    MOODLE: re.compile(r"(?P<name>.+)_(?P<number>\d+)_assignsubmission_.+"),
    CANVAS: re.compile(r"(?P<name>[^_]+)(?:_LATE)?_(?P<number>\d+)_\d+_.+"),
}


@dataclass(frozen=True)
class Student:
    """A student as a platform knows them.

    Parameters
    ----------
    platform : str
        :data:`MOODLE`, :data:`CANVAS`, or empty where the name says nothing.
    number : str
        Moodle's number of the participant in this assignment, Canvas's number of the user.
    name : str
    """

    platform: str
    number: str
    name: str


def identify(submission: str) -> Student:
    """Read who it is off the name of a file or folder.

    Examples
    --------
    >>> identify("Ada Lovelace_1234_assignsubmission_file_")
    Student(platform='Moodle', number='1234', name='Ada Lovelace')
    >>> identify("Ada Lovelace_1234_assignsubmission_file_a2.py").number
    '1234'
    >>> identify("lovelaceada_LATE_77_9001_a2.py")
    Student(platform='Canvas', number='77', name='lovelaceada')
    >>> identify("a2.py")
    Student(platform='', number='', name='a2.py')
    """
    for platform, pattern in _NAMES.items():
        if found := pattern.fullmatch(submission):
            return Student(platform, found["number"], found["name"])
    return Student("", "", submission)
