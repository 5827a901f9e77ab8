"""What the lessons import: predictions, self-checks that say what is wrong, hints, pictures one can play with.

A lesson is three files, found by its number: the learner's notebook, the checks behind it, and the source that both
the notebook and its solutions are cut from. ``begin`` is the first cell of every lesson::

    from minispec.course.teaching import begin, explore
    lesson = begin("05")
    lesson.predict("acceptance", 0.6)
    lesson.check("residual", residual)
"""

from minispec.course.teaching.clock import Times, time_all
from minispec.course.teaching.compare import difference
from minispec.course.teaching.explore import explore
from minispec.course.teaching.lesson import Lesson, begin
from minispec.course.teaching.recorder import record
from minispec.course.teaching.steps import Mistake, Prediction, Reply, Step
from minispec.course.teaching.weights import load_weights
from minispec.lab.viz.stepper import Stepper

__all__ = [
    "Lesson",
    "Mistake",
    "Prediction",
    "Reply",
    "Step",
    "Stepper",
    "Times",
    "begin",
    "difference",
    "explore",
    "load_weights",
    "record",
    "time_all",
]
