"""The CUDA kernel compiles, for every card and format we promise, on a machine that has neither card nor driver."""

from __future__ import annotations

import pytest

from minispec.engine.backends.cuda.program import Ring
from minispec.engine.backends.cuda.source import options, source
from tests.engine.backends.nvrtc import compile_cubin, find_library

pytestmark = pytest.mark.skipif(find_library() is None, reason="NVRTC is not installed; try: pip install --group nvrtc")

OTHERS = ("-ftz=true", "--ptxas-options=-v")  # what CuPy adds to everybody's options; and a word about registers
CARDS = (("sm_80", 166912), ("sm_86", 101376), ("sm_90", 232448))
"""Architectures, and the bytes of shared memory that a block may have there."""


@pytest.mark.parametrize(("architecture", "limit"), CARDS)
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_the_kernel_compiles_without_a_warning_and_keeps_all_in_registers(dtype, architecture, limit):
    cubin, log = compile_it(dtype, False, architecture, limit)
    assert "0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads" in log
    assert b".text.run\0" in cubin


def test_the_kernel_for_odd_sizes_compiles_without_a_warning():
    compile_it("float16", True, *CARDS[0])


def compile_it(dtype, odd, architecture, limit):
    """Return machine code and what the assembler says about it, which must be all that is said."""
    ring = Ring.fit(dtype, limit)
    cubin, log = compile_cubin(source(), (*options(dtype, dtype, odd, ring), *OTHERS, f"-arch={architecture}"))
    assert [line for line in log.splitlines() if not line.startswith("ptxas info") and "bytes stack" not in line] == []
    return cubin, log


def test_what_does_not_compile_is_reported():
    """Negative control: the test above would notice."""
    with pytest.raises(ValueError, match="undefined"):
        compile_cubin(
            source().replace("const int WARP = 32;", ""),
            (*options("float32", "float32", False, Ring(2, 3)), "-arch=sm_80"),
        )


def test_older_cards_lack_what_the_kernel_asks_for():
    """Why the door refuses them."""
    with pytest.raises(ValueError, match="sm_80"):
        compile_cubin(source(), (*options("float16", "float16", False, Ring(2, 5)), "-arch=sm_75"))
