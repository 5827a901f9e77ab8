"""The CUDA kernels compile, for every card and format we promise, on a machine that has neither card nor driver."""

from __future__ import annotations

import pytest

from minispec.engine.backends.cuda.fused import KERNELS
from minispec.engine.backends.cuda.source import options, source
from tests.engine.backends.nvrtc import compile_cubin, find_library

pytestmark = pytest.mark.skipif(find_library() is None, reason="NVRTC is not installed; try: pip install --group nvrtc")

ARCHITECTURES = ("sm_80", "sm_90")
OF_CUPY = ("-ftz=true",)  # what CuPy adds to everybody's options


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_every_kernel_compiles_without_a_warning(dtype, architecture):
    cubin, log = compile_cubin(source(), (*options(dtype), *OF_CUPY, f"-arch={architecture}"))
    assert log == ""
    for name in KERNELS:
        assert f".text.{name}\0".encode() in cubin


def test_what_does_not_compile_is_reported():
    """Negative control: the test above would notice."""
    with pytest.raises(ValueError, match="undefined"):
        compile_cubin(source().replace("const int WARP = 32;", ""), (*options("float32"), "-arch=sm_80"))


def test_older_cards_lack_the_tensor_core_tile():
    """Why the door refuses them."""
    with pytest.raises(ValueError, match="sm_80"):
        compile_cubin(source(), (*options("float16"), "-arch=sm_75"))
