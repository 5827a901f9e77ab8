"""``python -m minispec.lab.renew``: remake what commands write into the repository, where it is stale.

:data:`STEPS` is the table: what is written, by which commands, from which files, in how many minutes at most.
``docs/renewed.json`` has, for each product, the hashes of what it was made from; a product is stale where one differs.
A Python file counts by what it computes: comments, docstrings, layout, imports and its place change nothing. The engine
counts, where texts matter and not time, by what it decodes: its golden runs, which are no product themselves.
"""

from __future__ import annotations

import argparse
import ast
import functools
import hashlib
import importlib.util
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from minispec.engine.files import hold_folder, write_text
from minispec.errors import InputError, MinispecError, OptionError, quote

ROOT = Path(__file__).resolve().parents[2]
RECORD, WORK = "docs/renewed.json", ".work/renew"
Inputs = dict[str, tuple[str, ...]]
"""Globs by the name under which ``--check`` blames them. ``FILE.py:NAME``: only what NAME needs of that module;
``FILE.json:KEY``: only the entries whose keys begin so; ``=GLOB``: every byte counts, also of Python."""

PAGES = {
    "README": "README.md",
    "first-run": "docs/first-run.md",
    "batching": "docs/lab-notes/batching.md",
    "claims": "docs/claims.md",
    "control": "docs/lab-notes/draft-length.md",
    "gpu": "docs/lab-notes/gpu.md",
    "kernels": "docs/lab-notes/kernels.md",
    "measuring": "docs/lab-notes/measure.md",
    "mutants": "docs/mutation-score.md",
    "performance": "docs/lab-notes/performance.md",
    "serving": "docs/lab-notes/serving.md",
}
GOLDEN = "tests/golden/runs.json"
PAIR: Inputs = {"weights": ("weights/*/SHA256SUMS",)}
HEADS: Inputs = {"heads": ("weights/*/*/SHA256SUMS",)}
TEXTS: Inputs = {**PAIR, "decoding": (f"{GOLDEN}:plain,", f"{GOLDEN}:rejection, model,")}
TIMES: Inputs = {
    **TEXTS,
    "kernels": ("minispec/engine/backends/panel/*.py", "minispec/engine/backends/_kernels.py"),
    "loop": ("minispec/engine/generation/loop.py", "minispec/engine/sampling/_kernels.py"),
}


@dataclass(frozen=True, slots=True)
class Step:
    """A row of the table: ``--only`` takes its name, or what stands before the hyphen."""

    name: str
    writes: tuple[str, ...]
    commands: tuple[str, ...]
    """Run in order; ``{parts}`` is what is to be made, ``{since}`` when that was begun. Without any, the page quotes
    figures that somebody chose: it is written by hand, and ``--record`` says so."""
    inputs: Inputs
    minutes: int
    """At most, on two cores: a step that takes longer is stopped."""
    needs: tuple[str, ...] = ()
    """Modules (and files, with a slash) without which it is left out."""
    parts: Mapping[str, Inputs] = field(default_factory=dict)
    """What can be remade by itself, with what it is made from besides."""
    part_file: str = ""
    """Where each part has a file: what this names. An interrupted step is current in the parts it has written."""
    only_named: bool = False
    """It trains, for longer than all else takes together: it runs if ``--only`` names it."""


_CLAIMS = "minispec/lab/ledger/claims"
_PAGE = f"minispec experiment report --write {PAGES['claims']}"
_WITH_REST = f"{_PAGE} --partial"  # a claim that a later step measures may still lack its figures
_CLAIM = "docs/claims/{part}.json"
_RUN = "minispec experiment run {parts} --since {since}"
_WITH_HEADS = ("hidden-states", "one-pass-drafts", "trees-pay")
_PACKED = ".work/training/packed"


def _claims(*kinds: str) -> dict[str, Inputs]:
    """Return the claims of some kinds, with what they are made from: their measurements, not their words."""
    found = {}
    for path in sorted((ROOT / _CLAIMS).glob("[!_]*.py")):
        name, kind = path.stem.replace("_", "-"), re.search(r'\bkind="(\w+)"', path.read_text(encoding="utf-8"))
        if kind is not None and kind[1] in kinds:
            shared: Inputs = {} if kind[1] == "computed" else TIMES if kind[1] == "timed" else TEXTS
            heads = HEADS if name in _WITH_HEADS else {}
            found[name] = {**shared, **heads, "own": (f"{_CLAIMS}/{path.name}:measure",)}
    return found


def _own(*globs: str) -> dict[str, tuple[str, ...]]:
    return {"own": globs}


_CONTROL = "tests/benchmarks/control.py"
_SIMULATED = {"policies": ("minispec/engine/control/*.py", "minispec/lab/simulate*.py")}
_TABLES = {
    "greedy": "policies",
    "sampled": "policies",
    "prose": "prose",
    "thinking": "thinking",
    "constraints": "constraints",
    "first": "first_token",
}
STEPS = (
    Step("README-run", (PAGES["README"], PAGES["first-run"]), ("python docs/make_first_run.py",),
         TEXTS | _own("docs/make_first_run.py:section"), 2),
    Step("README-picture", ("docs/_static/live.svg",), ("python docs/make_pictures.py",),
         TEXTS | _own("docs/make_pictures.py:picture"), 1),
    Step("theory-picture", ("docs/_static/theory.svg",), ("python docs/make_theory.py",),
         _own("docs/make_theory.py", "minispec/theory/[abw]*.py"), 1),  # acceptance, batch, breakeven, walltime
    Step("README-race", ("docs/_static/page.webp", "minispec/serving/page/colours.css"),
         ("python -m tests.serving.make_page",),
         TEXTS | _own("tests/serving/make_page.py", "minispec/engine/colours.py"), 3, ("playwright", "PIL")),
    Step("notebooks", ("lessons/notebooks",), ("python -m minispec.course.teaching",),
         _own("=lessons/source/*.py", "minispec/course/teaching/notebooks.py"), 1),
    Step("a5", ("lessons/assignments/a5/texts.json", "lessons/assignments/a5/hidden/texts.json"),
         ("python lessons/assignments/a5/make_texts.py", "minispec assignment check a5"),
         PAIR | _own("lessons/assignments/a5/make_texts.py"), 8),
    Step("weights", ("weights",), ("python -m minispec.lab.training report",),
         PAIR | _own("minispec/lab/training/report.py", "minispec/lab/training/checks.py"), 12,
         ("torch", f"{_PACKED}/manifest.json")),
    Step("ledger-counted", ("docs/claims", PAGES["claims"]), (f"{_RUN} --jobs -1", _WITH_REST), {}, 72,
         ("joblib",), _claims("computed", "counted"), _CLAIM),
    Step("ledger-trained", ("docs/claims", PAGES["claims"]), (f"{_RUN} --packed {_PACKED}", _WITH_REST), {}, 480,
         ("torch", f"{_PACKED}/manifest.json"), _claims("trained"), _CLAIM, only_named=True),
    Step("ledger-page", ("docs/claims", PAGES["claims"]), ("minispec experiment judge", _PAGE),
         _own(f"{_CLAIMS}/*.py", "minispec/lab/ledger/*.py", "minispec/lab/viz/plots/claims.py"), 2),
    Step("mutants", (PAGES["mutants"],), ("python -m tests.mutants",),
         _own("tests/mutants/catalogue/*.py", "tests/mutants/checks/*.py"), 22),
    Step("control", (PAGES["control"],), ("python -m tests.benchmarks.control {parts} --write",), TEXTS, 14,
         parts={name: _SIMULATED | _own(f"{_CONTROL}:{made}") for name, made in _TABLES.items()}
         | {"clock": TIMES | _own(f"{_CONTROL}:clock")}),
    # What is timed comes last: one knows from when on to leave the machine alone.
    Step("ledger-timed", ("docs/claims", PAGES["claims"]), (_RUN, _WITH_REST), {}, 66, (), _claims("timed"),
         _CLAIM),
    Step("performance", (PAGES["performance"],), ("python -m tests.benchmarks.performance --rounds 5 --write",),
         TIMES | _own("tests/benchmarks/performance.py:SECTIONS", "tests/benchmarks/peers/*.py"), 20,
         ("llama_cpp", "ctranslate2", "transformers")),
    Step("heads", (PAGES["performance"], PAGES["README"], "docs/performance.md", "docs/_static/speedups.svg",
                   "weights/target-17m/eagle/README.md", "weights/target-17m/block/README.md"),
         ("python -m tests.benchmarks.heads --write",),
         TIMES | HEADS | _own("tests/benchmarks/heads.py:tables", "tests/benchmarks/heads.py:measure_times"), 14),
    Step("batching", (PAGES["batching"],), (),
         TIMES | {"defaults": ("minispec/engine/batching/defaults.py",)} | _own("minispec/lab/bench/*.py"), 0),
    Step("measuring", (PAGES["measuring"],), (), TIMES, 0),
    Step("kernels", (PAGES["kernels"],), (), {"kernels": TIMES["kernels"]}, 0),
    Step("serving", (PAGES["serving"],), (), TEXTS | _own("tests/benchmarks/serving.py"), 0),
    Step("gpu", (PAGES["gpu"],), (), {"kernels": ("minispec/engine/backends/cuda/*.py",)}, 0),
)  # fmt: skip


class Repository:
    """A clone: what its products were made from, and what they would be made from now."""

    def __init__(self, root: Path = ROOT, steps: Sequence[Step] = STEPS) -> None:
        self.root, self.steps, self.work = root, steps, root / WORK
        self._hash = functools.cache(self._hash_glob)

    def products(self, step: Step) -> dict[str, dict[str, str]]:
        """Return hashes of what each product is made from now, by kind; a product is ``STEP`` or ``STEP/PART``."""
        made = {f"{step.name}/{part}": {**step.inputs, **more} for part, more in step.parts.items()}
        return {
            name: {kind: _digest("".join(map(self._hash, globs))) for kind, globs in inputs.items()}
            for name, inputs in (made or {step.name: step.inputs}).items()
        }

    def find_stale(self, step: Step) -> dict[str, list[str]]:
        """Return the stale products of a step, each with the kinds of input that are others now."""
        known = self.recorded()
        changed = {
            name: [kind for kind, value in now.items() if known.get(name, {}).get(kind) != value]
            for name, now in self.products(step).items()
        }
        return {name: kinds for name, kinds in changed.items() if kinds}

    def recorded(self) -> dict[str, dict[str, str]]:
        """Return what products were made from, as recorded."""
        return _read_json(self.root / RECORD)

    def record(self, made: Mapping[str, Mapping[str, str]]) -> None:
        """Record what products were made from; what no step makes any more is forgotten. A line for each."""
        names = [name for step in self.steps for name in self.products(step)]
        known = {name: entry for name, entry in {**self.recorded(), **made}.items() if name in names}
        lines = [f"{json.dumps(name)}: {json.dumps(known[name])}" for name in names if name in known]
        write_text(self.root / RECORD, "{\n" + ",\n".join(lines) + "\n}\n")

    def choose(self, names: Iterable[str]) -> list[Step]:
        """Return the steps of these names.

        Raises
        ------
        OptionError
            If one names none.
        """
        chosen: set[str] = set()
        for name in names:
            found = {
                step.name
                for step in self.steps
                if name == step.name or (name == step.name.partition("-")[0] and not step.only_named)
            }
            if not found:
                raise OptionError(f"no step is called {quote(name)}; there are {', '.join(s.name for s in self.steps)}")
            chosen |= found
        return [step for step in self.steps if step.name in chosen]

    def _hash_glob(self, glob: str) -> str:
        pattern, _, part = glob.removeprefix("=").partition(":")
        paths = sorted(path for path in self.root.glob(pattern) if path.name != "__init__.py")
        if not paths:
            raise InputError(f"{pattern} names no file in {self.root}, and a product is made from it. Mend STEPS")
        texts = [path.read_text(encoding="utf-8") for path in paths]
        if glob.endswith(".py") and not glob.startswith("="):
            return _digest(*sorted(_digest(describe_code(text)) for text in texts))
        if not part:
            names = [path.relative_to(self.root).as_posix() for path in paths]
            return _digest(*names, *texts)
        if pattern.endswith(".py"):
            return _digest(*(describe_code(text, part) for text in texts))
        return _digest(*(json.dumps([e for e in json.loads(t).items() if e[0].startswith(part)]) for t in texts))

    def describe_page(self, page: str) -> str:
        """Return the line that a page owes its reader where it is stale, and else nothing."""
        found = [(step, self.find_stale(step)) for step in self.steps if page in step.writes]
        told = [f"{step.name}: {describe_stale(step, stale, most=2)}." for step, stale in found if stale]
        return f"> **Stale.** {' '.join(told)} See `python -m minispec.lab.renew --check`." if told else ""

    def remake(self, steps: Sequence[Step], named: bool) -> list[str]:
        """Remake what is stale of some steps, or all of it if they were named; return the names of those that failed.

        What was done is kept in ``.work/renew`` until all of a round is: the same command goes on where it was
        interrupted, with what is made from the same files still.
        """
        failed, asked, path = [], [step.name for step in steps] if named else [], self.work / "round.json"
        with hold_folder(self.work):
            known = _read_json(path)
            begun = known.get("steps", {}) if known.get("asked") == asked else {}
            for step in steps:
                made = self.products(step)
                key = _digest(json.dumps(made))
                if begun.get(step.name, {}).get("key") != key:
                    begun[step.name] = {"key": key, "since": f"{datetime.now(UTC):%Y-%m-%dT%H:%M}", "done": False}
                wanted = list(made) if named else list(self.find_stale(step))
                if begun[step.name]["done"] or not wanted:
                    continue
                write_text(path, json.dumps({"asked": asked, "steps": begun}))
                fault: str | None = "interrupted"
                before = {name: self._find_written(step, name) for name in wanted}
                try:
                    fault = self._remake(step, [name.partition("/")[2] for name in wanted], begun[step.name]["since"])
                finally:  # recorded is what they are made from, not what has come since
                    done = [name for name in wanted if not fault or self._find_written(step, name) != before[name]]
                    self.record({name: made[name] for name in done})
                if fault:
                    _say(f"{step.name}: {fault}")
                    failed.append(step.name)
                    continue
                begun[step.name]["done"] = True
                write_text(path, json.dumps({"asked": asked, "steps": begun}))
            if not failed:
                path.unlink(missing_ok=True)
        return failed

    def _find_written(self, step: Step, product: str) -> int | None:
        """Return when a part's file was written, in ns; None if there is none."""
        path = self.root / step.part_file.format(part=product.partition("/")[2])
        return path.stat().st_mtime_ns if path.is_file() else None

    def _has(self, need: str) -> bool:
        return (self.root / need).exists() if "/" in need else importlib.util.find_spec(need) is not None

    def _remake(self, step: Step, parts: Sequence[str], since: str) -> str | None:
        """Run a step's commands; return what went wrong."""
        missing = [need for need in step.needs if not self._has(need)]
        if missing:
            return f"left out, because it needs {', '.join(missing)}"
        if not step.commands:
            return f"write {', '.join(step.writes)} by hand, then --record {step.name}"
        log, end = self.work / f"{step.name}.log", time.monotonic() + 60 * step.minutes
        _say(f"{step.name}: at most {step.minutes} min; {log.relative_to(self.root)} has what it prints")
        with log.open("w", encoding="utf-8") as out:
            for command in step.commands:
                words = shlex.split(command.format(parts=" ".join(parts), since=since))
                words[:1] = [sys.executable] if words[0] == "python" else [sys.executable, "-m", words[0]]
                code = _run(words, self.root, out, end)
                if code is None:
                    return f"stopped after {step.minutes} minutes; the same command goes on"
                if code:
                    return f"`{' '.join(words[1:])}` ended with exit code {code}, see {log.relative_to(self.root)}"
        return None


def describe_stale(step: Step, stale: Mapping[str, Sequence[str]], most: int | None = None) -> str:
    """Say which products of a step are stale, and why; with ``most``, name no more of them than that.

    Examples
    --------
    >>> step = Step("tables", ("page.md",), (), {}, 3, parts={"a": {}, "b": {}})
    >>> describe_stale(step, {"tables/a": ["kernels", "own"]})
    'changed since: kernels, own in 1 of 2 (a)'
    >>> describe_stale(step, {"tables/a": ["own"], "tables/b": ["own"]}, most=1)
    'changed since: own in 2 of 2 (a, …)'
    """
    parts = [part for name in stale if (part := name.partition("/")[2])]
    kinds = ", ".join(dict.fromkeys(kind for kinds in stale.values() for kind in kinds))
    named = [*parts[:most], *(["…"] if most is not None and len(parts) > most else [])]
    which = f" in {len(parts)} of {len(step.parts)} ({', '.join(named)})" if parts else ""
    return f"changed since: {kinds}{which}"


def describe_code(text: str, name: str = "") -> str:
    """Return what a module computes, or what it needs for one of its names: no comments, docstrings, layout or imports.

    Raises
    ------
    InputError
        If the module has no such name.
    """
    body = ast.parse(text).body
    if name:
        found = {each: node for node in body for each in _names(node)}
        if name not in found:
            raise InputError(f"no {name} in a module that a product is made from. Mend STEPS")
        needed, left = set(), [name]
        while left:
            node = found[left.pop()]
            if node not in needed:
                needed.add(node)
                left += {each.id for each in ast.walk(node) if isinstance(each, ast.Name)} & found.keys()
        body = [node for node in body if node in needed]
    return repr(_shape(body))


def _names(node: ast.stmt) -> list[str]:
    """Return what a statement at the top of a module names."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
        return [node.name]
    return [each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)]


def _shape(node: Any) -> Any:
    """Return a syntax tree as lists, the same in each version of Python."""
    if isinstance(node, list):
        return [_shape(each) for each in node if not _is_silent(each)]
    if isinstance(node, ast.AST):
        fields = ((key, value) for key, value in ast.iter_fields(node) if key not in ("ctx", "kind", "type_comment"))
        return [type(node).__name__, *((key, _shape(value)) for key, value in fields if value not in (None, []))]
    return node


def _is_silent(node: object) -> bool:
    text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    return text or isinstance(node, ast.Import | ast.ImportFrom)


def _run(words: Sequence[str], folder: Path, out: Any, end: float) -> int | None:
    """Run a command; return its exit code, None if it had to be stopped. It is stopped too when we are."""
    alone: dict[str, Any] = {"start_new_session": True} if os.name == "posix" else {}
    process = subprocess.Popen(words, cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=out, **alone)
    try:
        return process.wait(max(0.0, end - time.monotonic()))
    except subprocess.TimeoutExpired:
        return None
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL) if alone else process.kill()
            process.wait()


def _digest(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]


def _read_json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise InputError(f"{quote(str(path))} is no JSON object; take it from git again, or delete it")
    return found


def _say(line: str) -> None:
    print(line, flush=True)


def check(repository: Repository, steps: Sequence[Step]) -> int:
    """Print the table; return 1 if something is stale."""
    rows = [(step, repository.find_stale(step)) for step in steps]
    for step, stale in rows:
        _say(f"{step.name:15} {f'{step.minutes:4} min' if step.commands else ' by hand'}  "
             f"{f'stale, {describe_stale(step, stale)}' if stale else 'current'}")  # fmt: skip
    stale_steps = [step for step, stale in rows if stale]
    minutes = sum(step.minutes for step in stale_steps if not step.only_named)
    _say(f"{len(stale_steps)} of {len(rows)} stale; `python -m minispec.lab.renew` takes at most {minutes} minutes")
    return int(bool(stale_steps))


def main(arguments: Sequence[str] | None = None, repository: Repository | None = None) -> int:
    """Remake what commands write into the repository, where it is stale."""
    parser = argparse.ArgumentParser(prog="python -m minispec.lab.renew", description=main.__doc__)
    parser.add_argument("--only", metavar="NAME,…", help="these, stale or not; README is all that begin with README-")
    parser.add_argument("--check", action="store_true", help="say what is stale, and why; make nothing")
    parser.add_argument("--record", metavar="NAME,…", help="these were made by hand from what is there now")
    asked = parser.parse_args(arguments)
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)  # else what was begun would go on without us
    try:
        found = repository or Repository()
        if not (found.root / "docs").is_dir():
            raise OptionError(f"{found.root} is no clone of the repository, which has docs. Try it in a clone")
        if asked.record is not None and (asked.check or asked.only is not None):
            other = "--check" if asked.check else "--only"
            raise OptionError(
                f"--record writes down what was made by hand, and {other} does not. Leave one of them out"
            )
        if asked.record is not None:
            found.record({name: made for step in found.choose(asked.record.split(","))
                          for name, made in found.products(step).items()})  # fmt: skip
            return 0
        steps = found.choose(asked.only.split(",")) if asked.only is not None else list(found.steps)
        if asked.check:
            return check(found, steps)
        if asked.only is None:
            steps = [step for step in steps if step.commands and not step.only_named]
        return int(bool(found.remake(steps, named=asked.only is not None)))
    except MinispecError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("interrupted; the same command goes on", file=sys.stderr)
        return 130
    except BrokenPipeError:  # | head
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    finally:
        signal.signal(signal.SIGTERM, before)


if __name__ == "__main__":
    sys.exit(main())
