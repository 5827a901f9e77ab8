"""Kernels compiled for the emulated card: the backend's own source, built by g++ on top of ``emulated_card.hpp``."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np

from minispec.engine.backends.cuda.source import source

HEADER = Path(__file__).with_name("emulated_card.hpp")
COMPILER = shutil.which("g++")

_KERNEL = re.compile(r'extern "C" __global__ void(?: __launch_bounds__\(\d+, \d+\))?\s+(\w+)\(([^)]*)\)')
_SCALARS = {"int": np.dtype(np.int32), "float": np.dtype(np.float32)}
_POINTERS = {
    "float": np.dtype(np.float32),
    "int": np.dtype(np.int32),
    "unsigned": np.dtype(np.uint32),
    "unsigned char": np.dtype(np.uint8),
}


def signatures(code: str, dtype: str) -> dict[str, list[tuple[bool, np.dtype]]]:
    """Return each kernel's parameters: whether it is a pointer, and to what."""
    found = {}
    for name, parameters in _KERNEL.findall(code):
        found[name] = []
        for parameter in parameters.split(","):
            written = parameter.rsplit(None, 1)[0].replace("const", "").strip()
            stem = written.rstrip("*").strip()
            is_pointer = written.endswith("*")
            kind = np.dtype(dtype) if stem == "stored" else (_POINTERS if is_pointer else _SCALARS)[stem]
            found[name].append((is_pointer, kind))
    return found


def build(
    folder: Path, dtype: str, code: str | None = None
) -> tuple[ctypes.CDLL, dict[str, list[tuple[bool, np.dtype]]]]:
    """Compile all kernels for weights in ``dtype``; ``code`` stands in for the source, to try a wrong one."""
    code = source(HEADER.read_text()) if code is None else code
    kernels = signatures(code, dtype)
    text = code
    for name, parameters in kernels.items():
        c_types = [
            ("void*" if is_pointer else {"i": "int", "f": "float"}[kind.kind]) for is_pointer, kind in parameters
        ]
        stored = "half_bits" if dtype == "float16" else "float"
        casts = {"f4": "float*", "i4": "int*", "u4": "unsigned*", "u1": "unsigned char*", "f2": f"{stored}*"}
        arguments = ", ".join(
            f"({casts[kind.str[1:]]})*({c_type}*)a[{i}]" if is_pointer else f"*({c_type}*)a[{i}]"
            for i, ((is_pointer, kind), c_type) in enumerate(zip(parameters, c_types, strict=True))
        )
        text += (
            f'\nextern "C" int launch_{name}(unsigned x, unsigned y, unsigned z, unsigned threads, unsigned seed, '
            f"void** a) {{ return launch({{x, y, z}}, threads, seed, [&] {{ {name}({arguments}); }}); }}\n"
        )
    unit, library = folder / f"{dtype}.cpp", folder / f"{dtype}.so"
    unit.write_text(text)
    subprocess.run(
        [COMPILER, "-std=c++17", "-O1", "-ffp-contract=off", "-U_FORTIFY_SOURCE", "-fPIC", "-shared", "-w",
         f"-DMINISPEC_FLOAT16={int(dtype == 'float16')}", "-o", library, unit],
        check=True,
    )  # fmt: skip
    return ctypes.CDLL(str(library)), kernels
