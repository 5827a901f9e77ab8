"""The folder of the page that needs no server, as files."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import pytest

import minispec.serving
from minispec.serving.static import write_page

BROWSER = Path(minispec.serving.__file__).parent / "browser"
STOPS = re.compile(r"stops? \d+|proof|the engine's thread|the folder's files|distribution\?", re.IGNORECASE)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("page") / "page"
    assert write_page(made) == pytest.approx(39e6, rel=0.1)
    return made


def test_every_file_that_is_named_is_there_and_no_address_leaves_the_folder(folder: Path) -> None:
    for path in folder.rglob("*"):
        if path.suffix not in (".js", ".html", ".css"):
            continue
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"https?:|//[\w-]+\.\w", text.replace("http://www.w3.org/2000/svg", "")), path
        named = re.findall(r'from "(\.[\w./]+)"', text) + re.findall(r'(?:src|href)="([\w.]+)"', text)
        for name in named:
            assert (path.parent / name).is_file(), (path, name)
    kept = json.loads(re.search(r"FILES = (\[.*\]);", (folder / "offline.js").read_text(encoding="utf-8"))[1])
    there = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert set(kept) - {"./"} == {name for name in there if not name.startswith("weights/") and name != "offline.js"}
    options = json.loads((folder / "options.json").read_text(encoding="utf-8"))
    assert options["top_p"] == {"exclusiveMinimum": 0, "max": 1, "default": 1}, "0 is refused"
    listed = options["files"]
    weights = {name: (folder / name).read_bytes() for name in there if re.fullmatch(r"weights/.*(?<!\.md)", name)}
    assert listed == {
        name: {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        for name, content in weights.items()
    }
    assert {"LICENSE", "NOTICE"} <= there


def test_the_engines_files_say_what_they_mirror_and_are_short() -> None:
    lines = {path.stem: path.read_text(encoding="utf-8").splitlines() for path in (BROWSER / "engine").glob("*.js")}
    assert len(lines["forward"]) <= 150
    assert len(lines["loop"]) <= 60
    for name, text in lines.items():
        assert STOPS.search(" ".join(text[:4])), name


def test_a_folder_that_is_there_is_left_alone(folder: Path, tmp_path: Path, run_here) -> None:
    (tmp_path / "mine").mkdir()
    for place, said in ((tmp_path / "mine", "exists already"), (tmp_path / "no" / "page", "does not exist")):
        done = run_here("page", "-o", str(place))
        assert done.returncode == 2
        assert said in done.stderr
        assert len(done.stderr.strip().splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]
