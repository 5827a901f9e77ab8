"""Where layers are missing: another system, another user, a container without rights outside.

Another system is simulated: the worker believes that it runs on macOS, so that it takes no path of Linux. Users and
containers are real, made with ``unshare`` and ``setpriv``.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import types
from collections.abc import Iterator
from pathlib import Path

import pytest

from minispec.course.grading import StudentError, jail, worker
from minispec.course.grading.formats import render
from minispec.course.grading.grade import Grader
from minispec.errors import InputError

from .example import ASSIGNMENTS, SECRET, example, exploits, with_accept, write
from .test_worker import SOURCE

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="what is missing elsewhere is taken away here")

MISSING = ("namespaces", "landlock", "seccomp")
"""What there is on Linux only."""
REPOSITORY = Path(__file__).resolve().parents[3]


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Grader and workers as on macOS; the kernel's limits are Linux's all the same."""
    here = worker._here
    text = here("jail.py").read_text(encoding="utf-8")
    assert text.count("sys.platform") == 3
    copy = write(tmp_path / "jail.py", text.replace("sys.platform", '"darwin"'))
    monkeypatch.setattr(worker, "_here", lambda name: copy if name == "jail.py" else here(name))
    system = types.SimpleNamespace(platform="darwin", executable=sys.executable, _base_executable=sys._base_executable)
    monkeypatch.setattr(worker, "sys", system)


def shut_in(*layers: str) -> worker.Worker:
    return worker.Worker({"a0.py": SOURCE}, ["a0"], limits=worker.Limits(0.2, 512, layers))


@pytest.mark.usefixtures("elsewhere")
def test_elsewhere_nothing_runs_until_each_missing_layer_is_accepted(tmp_path: Path) -> None:
    path = write(tmp_path / "a0.py", example().solution)
    with pytest.raises(InputError) as caught:
        Grader(example(), SECRET).grade(path)
    accepted = [layer for layer in jail.LAYERS if f"--without {layer}" in str(caught.value)]
    assert set(MISSING) <= set(accepted) <= {*MISSING, "user"}
    report = Grader(example(), SECRET, layers=[one for one in jail.LAYERS if one not in accepted]).grade(path)
    assert report.score == 10
    assert not any(report.isolation[layer] for layer in (*accepted, "limits"))
    told = render([report], "terminal")
    assert f"isolation in force: {'user' if report.isolation['user'] else 'none'}\n" in told
    for layer in (*accepted, "limits"):
        assert f"best effort only, no {layer}: " in told


@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize(
    ("name", "kind"), [("loop", "time"), ("exit", "died"), ("crash", "died"), ("allocate", "raised")]
)
def test_elsewhere_an_end_is_told(name: str, kind: str) -> None:
    one = shut_in("user", "limits")
    with one as subject, pytest.raises(StudentError) as caught:
        getattr(subject, name)()
    assert caught.value.kind == kind
    assert one._process.poll() is not None


@pytest.mark.usefixtures("elsewhere")
def test_elsewhere_a_worker_whose_pipe_is_closed_ends() -> None:
    """As it is closed where the grader dies: nothing else ends a worker there."""
    one = shut_in("user", "limits")
    with one as subject:
        assert subject.double(2) == 4
        os.close(one._to)
        assert one._process.wait(timeout=60.0) == 0
        one._to = os.open(os.devnull, os.O_WRONLY)  # the worker closes it


def test_nothing_runs_before_it_is_known_what_is_in_force(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The submission has all the time there is between the worker's word and the grader's."""
    mark = tmp_path / "mark"
    refuse = worker.Worker._refuse_unsafe

    def refuse_late(one: worker.Worker) -> None:
        time.sleep(0.5)
        one.layers["seccomp"] = False
        refuse(one)

    monkeypatch.setattr(worker.Worker, "_refuse_unsafe", refuse_late)
    source = f"import pathlib\npathlib.Path({str(mark)!r}).touch()\n"
    layers = ("limits", "seccomp")  # so that it could leave the mark
    with pytest.raises(InputError, match="nothing was run"):
        worker.Worker({"a0.py": source}, ["a0"], limits=worker.Limits(1.0, 512, layers, ASSIGNMENTS)).__enter__()
    assert not mark.exists()
    with worker.Worker({"a0.py": source}, ["a0"], limits=worker.Limits(1.0, 512, ("limits",))):
        assert mark.exists()  # negative control


# Other users.

PRIVATE = """
set -e
while [ "$1" != -- ]; do
    mkdir -p "$HOLD/kept" && mount --bind "$1" "$HOLD/kept"
    mount -t tmpfs -o mode=755 tmpfs "$2" && mkdir -p "$1" && mount --move "$HOLD/kept" "$1"
    shift 2
done
shift
exec setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all --bounding-set=-all "$@"
"""
"""Makes folders that only root may pass accessible, in a view of the file system of its own, and becomes nobody."""


def closed_above(path: Path) -> Path | None:
    """Return the outermost folder above a path which others may not pass."""
    return next((one for one in reversed(path.parents) if not one.stat().st_mode & 0o001), None)


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that others may read."""
    made = Path(tempfile.mkdtemp(prefix="minispec-open-"))
    yield made
    shutil.rmtree(made)


def grade_as_nobody(folder: Path, paths: list[Path], *options: str, within: tuple[str, ...] = ()):
    """Run ``minispec grade`` as a user without rights; ``within`` are words of a command before it."""
    shutil.copytree(ASSIGNMENTS, folder / "assignments")
    (folder / "hold").mkdir()
    names = [shutil.copy(path, folder) for path in paths]
    for one in (folder, *folder.rglob("*")):
        one.chmod(0o755 if one.is_dir() else 0o644)
    needed = {path: closed_above(path) for path in (Path(sys.base_prefix), Path(sys.prefix), REPOSITORY)}
    opened = [str(word) for path, closed in needed.items() if closed for word in (path, closed)]
    if len(opened) > 2:
        pytest.skip("more than one place is closed to other users")
    command = ["unshare", "-m", "--propagation", "private", "sh", "-c", PRIVATE, "sh", *opened, "--", *within]
    command += [sys.executable, "-m", "minispec", "grade", "-a", "a0", "--assignments", str(folder / "assignments")]
    command += ["--format", "json", *options, *names]
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "HOLD": str(folder / "hold")}
    environment |= {"PYTHONPATH": str(REPOSITORY), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        command, env=environment, cwd=folder, capture_output=True, text=True, timeout=120, check=False
    )


needs_root = pytest.mark.skipif(
    os.geteuid() != 0 or not all(map(shutil.which, ("unshare", "setpriv", "mount"))),
    reason="only root becomes somebody else; without it the whole suite runs as such a user",
)


@needs_root
@pytest.mark.parametrize(
    ("without", "in_force"),
    [
        ((), ["namespaces", "limits", "seccomp"]),
        pytest.param(("namespaces",), ["landlock", "limits", "seccomp"], marks=pytest.mark.slow),
    ],
)
def test_a_grader_without_rights_is_as_safe(
    without: tuple[str, ...], in_force: list[str], folder: Path, tmp_path: Path
) -> None:
    right = write(tmp_path / "right" / "right.py", example().solution)
    sources = {name: text for name, text in exploits().items() if name[:3] in ("e24", "e60", "e61")}
    hostile = [write(tmp_path / "hostile" / f"{name}.py", text) for name, text in sources.items()]
    assert len(hostile) == 3
    options = [word for layer in without for word in ("--without", layer)]
    done = grade_as_nobody(folder, [right, *hostile], *options)
    assert done.returncode == 0, done.stderr
    reports = {one["submission"]: one for one in json.loads(done.stdout)}
    assert [layer for layer, held in reports["right.py"]["isolation"].items() if held] == in_force
    assert reports["right.py"]["score"] == 10
    for path in hostile:
        assert reports[path.name]["score"] == 0, path.name


@needs_root
@pytest.mark.parametrize("without", [(), pytest.param(("namespaces",), marks=pytest.mark.slow)])
def test_root_of_a_container_without_rights_outside_can_grade(
    without: tuple[str, ...], folder: Path, tmp_path: Path
) -> None:
    """There are no other users to become there."""
    right = write(tmp_path / "right" / "right.py", with_accept("return True"))
    options = [word for layer in without for word in ("--without", layer)]
    done = grade_as_nobody(folder, [right], *options, within=("unshare", "--user", "--map-root-user"))
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["score"] == 4
    assert not report["isolation"]["user"]
    assert report["isolation"]["namespaces" if not without else "landlock"]
