"""NVIDIA's run-time compiler through ctypes: no card and no driver, only its library (dependency group nvrtc)."""

from __future__ import annotations

import ctypes
import importlib.util
from pathlib import Path


def find_library() -> Path | None:
    """Return the library of the package nvidia-cuda-nvrtc-cu12 (or cu13), if there is one."""
    try:
        namespace = importlib.util.find_spec("nvidia")
    except ModuleNotFoundError:
        namespace = None
    folders = [] if namespace is None else list(namespace.submodule_search_locations or ())
    found = (path for folder in folders for path in sorted(Path(folder).glob("*/lib/libnvrtc.so.*")))
    return next((path for path in found if "alt" not in path.name), None)


def compile_cubin(code: str, options: tuple[str, ...]) -> tuple[bytes, str]:
    """Return machine code and the compiler's log.

    Raises
    ------
    ValueError
        With the log, if it does not compile.
    """
    library = ctypes.CDLL(str(find_library()))
    program = ctypes.c_void_p()
    library.nvrtcCreateProgram(ctypes.byref(program), code.encode(), b"kernels.cu", 0, None, None)
    try:
        encoded = [option.encode() for option in options]
        status = library.nvrtcCompileProgram(program, len(encoded), (ctypes.c_char_p * len(encoded))(*encoded))
        log = _text(library, "ProgramLog", program).rstrip(b"\0\n").decode()
        if status:
            raise ValueError(log or f"NVRTC error {status}")
        return _text(library, "CUBIN", program), log
    finally:
        library.nvrtcDestroyProgram(ctypes.byref(program))


def _text(library: ctypes.CDLL, what: str, program: ctypes.c_void_p) -> bytes:
    size = ctypes.c_size_t()
    getattr(library, f"nvrtcGet{what}Size")(program, ctypes.byref(size))
    buffer = ctypes.create_string_buffer(size.value)
    getattr(library, f"nvrtcGet{what}")(program, buffer)
    return buffer.raw
