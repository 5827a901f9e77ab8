"""The one door to matplotlib: nothing before a plot is asked for, one clear line where it is missing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from minispec.errors import MissingDependencyError, OutputError
from minispec.lab.viz.plots import style


@style.apply
def line(values: list[float]):
    figure, axes = style.new_figure(3, 2)
    axes.plot(values)
    style.note(axes, "a remark")
    return figure


def test_nothing_imports_matplotlib_before_a_plot_is_asked_for() -> None:
    code = "import sys, minispec.cli.main, minispec.lab.viz.plots.style; print('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


def test_without_matplotlib_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for refused in (lambda: line([1.0, 2.0]), lambda: style.check_output(tmp_path / "a.png"), style.new_figure):
        with pytest.raises(MissingDependencyError, match=r"pip install '\.\[plots\]'"):
            refused()


@pytest.mark.parametrize("suffix", style.SUFFIXES)
def test_the_same_data_give_the_same_file(suffix: str, tmp_path: Path) -> None:
    for name in ("a", "b"):
        style.save(line([1.0, 2.0]), tmp_path / f"{name}{suffix}")
    assert (tmp_path / f"a{suffix}").read_bytes() == (tmp_path / f"b{suffix}").read_bytes()
    assert sorted(path.stem for path in tmp_path.iterdir()) == ["a", "b"]
    style.save(line([1.0, 3.0]), tmp_path / f"b{suffix}")
    assert (tmp_path / f"a{suffix}").read_bytes() != (tmp_path / f"b{suffix}").read_bytes()


@pytest.mark.parametrize("name", ["plot", "plot.jpeg", "missing/plot.png", "folder.png"])
def test_a_file_that_could_not_be_written_is_refused_at_once(name: str, tmp_path: Path) -> None:
    (tmp_path / "folder.png").mkdir()
    with pytest.raises(OutputError, match=r"Try|[Nn]ame"):
        style.check_output(tmp_path / name)


def test_the_style_is_left_as_it_was() -> None:
    import matplotlib

    before = dict(matplotlib.rcParams)
    line([1.0, 2.0])
    assert dict(matplotlib.rcParams) == before
