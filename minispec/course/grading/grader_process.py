"""The process that grades, started and watched by :mod:`minispec.course.grading.classroom`.

Everything that handles what a submission says runs here: reading it, decoding its values, serving what is lent to it,
comparing. So whatever a submission does to its grader it does to this process, and that costs nobody else a point.

Lines of JSON come on standard input: first the job, then one request per submission. Lines of JSON go out: the
unfinished report after every step, then the settled one; or what is wrong with the job.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from pathlib import Path
from typing import Any

from minispec.course.grading import jail
from minispec.course.grading.grade import Grader
from minispec.course.grading.manifest import load_assignment
from minispec.course.grading.report import Report
from minispec.errors import InputError

MEMORY_MB = 300
"""Of data; where it is used up, Python raises MemoryError."""


def main() -> None:
    """Grade until the supervisor closes the pipe."""
    told = json.loads(sys.stdin.readline())
    jail.die_with_parent(told["parent"])
    limit = MEMORY_MB << 20
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    out = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)  # nothing else is a message

    def say(message: dict[str, Any]) -> None:
        out.write(json.dumps(message) + "\n")
        out.flush()

    folder = None if told["folder"] is None else Path(told["folder"])
    try:
        grader = Grader(
            load_assignment(told["assignment"], folder),
            bytes.fromhex(told["secret"]),
            tuple(told["layers"]),
            told["examples"],
        )
        for line in sys.stdin:
            asked = json.loads(line)
            report = grader.grade(
                Path(asked["path"]),
                earlier=None if asked["earlier"] is None else Report.from_dict(asked["earlier"]),
                emit=lambda unfinished: say({"unfinished": unfinished.to_dict()}),
                seconds=asked["seconds"],
            )
            say({"report": report.to_dict()})
    except InputError as error:
        say({"refused": str(error)})
    except MemoryError:
        say({"broke": "it ran out of memory"})
    except Exception as error:
        say({"broke": f"{type(error).__name__}: {error}"[:200]})


if __name__ == "__main__":
    main()
