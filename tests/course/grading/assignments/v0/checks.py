"""V0's checks."""

from minispec.course.grading import Check

ROW = [1, 2, 5]


def check(check_id, function, cases, **rest):
    names = tuple(cases[0])

    def observe(student, case):
        return getattr(student, function)(*(case[name] for name in names))

    return Check(check_id, observe, cases=cases, **rest)


def observe_level(student, case):
    return {"level": student.level(case["level"])}


def drawn_counts(rng):
    return [{"counts": rng.integers(1, 9, 4).tolist(), "i": int(rng.integers(4))} for _ in range(3)]


def drawn_levels(rng):
    return [{"level": float(level)} for level in rng.random(4)]


def drawn_rows(rng):
    return [{"counts": rng.integers(1, 9, 5).tolist()} for _ in range(3)]


CHECKS = [
    check("v0.q1.share", "share", [{"counts": ROW, "i": i} for i in range(3)], hidden=drawn_counts),
    Check("v0.q2.level", observe_level, [{"level": x / 8} for x in range(9)], hidden=drawn_levels),
    check("v0.q3.spread", "spread", [{"counts": ROW}, {"counts": [2, 2]}], hidden=drawn_rows),
]


# BEGIN HIDDEN TESTS
CHECKS.append(Check("v0.q2.hidden", observe_level, [{"level": -1.0}], hidden=drawn_levels))
# END HIDDEN TESTS
