"""What is missing for a GPU backend is said in one line, before any work, with the way out and exit code 2."""

from __future__ import annotations

import importlib.util
import sys
import types

import pytest
from click.testing import CliRunner

from minispec.cli.main import cli
from minispec.engine.backends import GPU_BACKENDS, get_backend
from minispec.engine.backends.cuda import describe_gpu, open_cupy
from minispec.errors import InputError, MissingDependencyError, OptionError


def stand_in(*, available=True, capability="90", devices=1):
    """Return a module that says of itself what CuPy would."""

    def count():
        if not devices:
            raise RuntimeError("cudaErrorInsufficientDriver: CUDA driver version is insufficient")
        return devices

    module = types.ModuleType("cupy")
    module.__version__ = "14.2.0"
    module.is_available = lambda: available
    module.cuda = types.SimpleNamespace(
        Device=lambda: types.SimpleNamespace(compute_capability=capability),
        runtime=types.SimpleNamespace(getDeviceCount=count),
    )
    return module


@pytest.fixture
def without_cupy(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)  # importing it raises
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)


@pytest.mark.usefixtures("without_cupy")
@pytest.mark.parametrize("name", GPU_BACKENDS)
def test_without_cupy(name):
    with pytest.raises(
        MissingDependencyError, match=r"CuPy, which is not installed\. Try pip install 'cupy-cuda12x"
    ) as said:
        get_backend(name)
    assert "\n" not in str(said.value)
    assert describe_gpu() == f"none: {said.value}"


@pytest.mark.parametrize(
    ("module", "says"),
    [
        (stand_in(available=False, devices=0), r"no GPU: CuPy 14\.2\.0 finds none \(cudaErrorInsufficientDriver"),
        (stand_in(available=False), r"no GPU: .* finds none \(1 devices\)"),
        (stand_in(capability="75"), r"compute capability 7\.5; 8\.0 is the least"),
    ],
)
def test_without_a_card_that_can(module, says, monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", module)
    with pytest.raises(OptionError, match=says):
        open_cupy()


def test_a_card_that_can_is_let_in(monkeypatch):
    """The refusals above are not all that the door can say."""
    module = stand_in()
    monkeypatch.setitem(sys.modules, "cupy", module)
    assert open_cupy() is module


@pytest.mark.usefixtures("without_cupy")
@pytest.mark.parametrize("name", GPU_BACKENDS)
def test_the_command_says_so_in_one_line(name):
    done = CliRunner().invoke(cli, ["generate", "hello", "--backend", name])
    assert isinstance(done.exception, InputError)
    assert done.exception.exit_code == 2
    assert done.stdout == ""
