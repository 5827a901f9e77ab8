"""A model larger than the memory is refused before it is read; what the system says of its memory is understood."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from minispec.cli.main import main
from minispec.engine.backends import host
from minispec.engine.loading import load_model
from minispec.engine.loading.memory import needed_bytes
from minispec.engine.loading.safetensors_file import SafetensorsFile
from minispec.errors import OptionError
from tests.engine.loading.folders import write_model


@pytest.fixture
def system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Plant what the system's files say; without an argument there is no such file."""

    def plant(meminfo: str | None = None, *limits: str) -> None:
        monkeypatch.setattr(host, "MEMINFO", tmp_path / "meminfo")
        monkeypatch.setattr(host, "LIMITS", [tmp_path / f"limit{i}" for i in range(3)])
        if meminfo is not None:
            (tmp_path / "meminfo").write_text(meminfo, encoding="ascii")
        for path, limit in zip(host.LIMITS, limits, strict=False):
            path.write_text(limit, encoding="ascii")

    return plant


def available(num_bytes: int) -> str:
    return f"MemTotal:  99999999 kB\nMemFree:  1 kB\nMemAvailable:  {num_bytes // 1024} kB\n"


def test_free_is_what_linux_calls_available(system) -> None:
    system(available(1 << 30))
    assert host.free_bytes() == 1 << 30


@pytest.mark.parametrize(
    ("limits", "free"), [(("max\n",), 1 << 30), (("1048576\n",), 1 << 20), (("max", "9223372036854771712"), 1 << 30)]
)
def test_a_container_has_no_more_than_its_limit(system, limits: tuple[str, ...], free: int) -> None:
    system(available(1 << 30), *limits)
    assert host.free_bytes() == free


@pytest.mark.parametrize("meminfo", [None, "", "MemAvailable:\n", "MemAvailable: some kB\n"])
def test_elsewhere_it_is_all_there_is(system, meminfo: str | None) -> None:
    system(meminfo)
    assert host.free_bytes() == host.total_bytes()


def test_a_system_that_says_nothing_refuses_nothing(system, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(name: str) -> int:
        raise ValueError("unrecognized configuration name")

    system()
    monkeypatch.setattr("os.sysconf", unknown)
    assert host.free_bytes() is None
    load_model(write_model(tmp_path / "model"), backend="numpy")


class TestTooLarge:
    @pytest.fixture
    def folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        """A model that must not be read."""

        def read(self: SafetensorsFile, name: str) -> None:
            raise AssertionError(f"{name} was read")

        folder = write_model(tmp_path / "model")
        self.needed = needed_bytes(load_model(folder, backend="numpy").config, item_bytes=4, kv_bytes=4)
        monkeypatch.setattr(SafetensorsFile, "read", read)
        return folder

    @pytest.mark.parametrize("dtype", ["float32", "int8"])  # the reference keeps float32 whatever is asked for
    def test_it_is_refused_before_it_is_read(self, folder: Path, dtype: str, system) -> None:
        system(None, str(self.needed - 1))
        with pytest.raises(OptionError, match=r"GB left\. Try a smaller model") as refused:
            load_model(folder, backend="numpy", dtype=dtype)
        assert "\n" not in str(refused.value)

    def test_what_just_fits_is_read(self, folder: Path, system) -> None:
        """The control."""
        system(None, str(self.needed))
        with pytest.raises(AssertionError, match="was read"):
            load_model(folder, backend="numpy")

    def test_a_smaller_cache_needs_less(self, folder: Path, system) -> None:
        system(None, str(self.needed - 1))
        with pytest.raises(AssertionError, match="was read"):
            load_model(folder, backend="numpy", kv_dtype="float16")

    def test_the_command_says_so_in_one_line(
        self, folder: Path, system, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        system(None, "1000")
        asked = ["minispec", "generate", "a", "--target", str(folder), "--draft", "none", "--backend", "numpy"]
        monkeypatch.setattr("sys.argv", asked)
        with pytest.raises(SystemExit) as done:
            main()
        assert done.value.code == 2
        told = capsys.readouterr()
        assert told.out == ""
        assert "GB left" in told.err.splitlines()[-1]


def resident_kib(path: Path) -> int:
    """How much of a mapped file is in this process's memory."""
    found, sizes = False, []
    for line in Path("/proc/self/smaps").read_text(encoding="utf-8").splitlines():
        if "-" in line.split(maxsplit=1)[0] and not line.split(maxsplit=1)[0].endswith(":"):
            found = line.endswith(str(path))
        elif found and line.startswith("Rss:"):
            sizes.append(int(line.split()[1]))
    assert sizes, "the file is mapped"
    return sum(sizes)


@pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="needs Linux")
def test_a_file_that_was_read_does_not_stay_in_memory(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    tensors = {f"t{i}": np.full((512, 1024), i, np.float16) for i in range(16)}  # a mebibyte each
    save_file(tensors, path)
    file = SafetensorsFile(path)
    for name, tensor in tensors.items():
        assert (file.read(name) == tensor).all()
        assert resident_kib(path) < 2048
    assert (file.read("t0") == tensors["t0"]).all(), "and it can be read again"


def test_a_file_that_is_replaced_stays_the_one_that_was_opened(tmp_path: Path) -> None:
    path, other = tmp_path / "model.safetensors", tmp_path / "other.safetensors"
    for place, value in ((path, 1.0), (other, 2.0)):
        save_file({"t": np.full((4, 4), value, np.float32)}, place)
    file = SafetensorsFile(path)
    other.replace(path)
    assert (file.read("t") == 1.0).all()
