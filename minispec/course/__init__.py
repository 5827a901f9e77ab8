"""Wing 3, the course: what runs lessons and grades assignments; their texts lie in ``lessons``.

Here: teaching (checks, hints and pictures of a lesson) and grading (bundles, the jail, reports, a class).
It may import ``minispec.lab``, ``minispec.engine`` and ``minispec.theory``.
Begin with ``teaching/lesson.py`` or ``grading/grade.py``.
"""
