"""The tiles compiled for CPUs that are not here: their sums stay in registers, and nothing is called.

Each tile is emitted for another instruction set, optimised and compiled to assembly by LLVM, and its innermost loop is
read. That says nothing about speed, only that the arithmetic of ``docs/kernels.md`` comes true.
"""

from __future__ import annotations

import dataclasses
import importlib.util
import os
import re
import sys

import llvmlite.binding as llvm
import pytest
from llvmlite import ir
from numba import types

from minispec.engine.backends.panel.isa import AVX2, AVX512, NEON

pytestmark = pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="there is no compiler")

_LINUX = "unknown-linux-gnu"
TARGETS = {
    "x86-64-v3": (AVX2, f"x86_64-{_LINUX}"),
    "haswell": (AVX2, f"x86_64-{_LINUX}"),
    "skylake-avx512": (AVX512, f"x86_64-{_LINUX}"),
    "znver5": (AVX512, f"x86_64-{_LINUX}"),
    "neoverse-n1": (NEON, f"aarch64-{_LINUX}"),
    "apple-m1": (NEON, "arm64-apple-darwin"),
}
"""CPUs by LLVM's name."""

DTYPES = {"float32": ir.FloatType(), "int16": ir.IntType(16), "uint16": ir.IntType(16), "int8": ir.IntType(8)}
"""Numba's names for the weights of a panel, and what LLVM calls them."""

VECTOR = {"x86_64": r"%[xyz]mm\d+", "aarch64": r"\b[vqd]\d+\b", "arm64": r"\b[vqd]\d+\b"}
STACK = {"x86_64": r"\(%rsp", "aarch64": r"\[sp\b", "arm64": r"\[sp\b"}
MULTIPLY_ADD = {
    AVX512.name: r"vfn?madd\d+ps.*%zmm",
    AVX2.name: r"vfn?madd\d+ps.*%ymm",
    NEON.name: r"fmla(\.4s|\s+v\d+\.4s)",
}


@pytest.fixture(scope="module", autouse=True)
def _every_target():
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()


def emitter_for(isa, monkeypatch):
    """Return a second ``tile``, made for another instruction set."""
    monkeypatch.setattr("minispec.engine.backends.panel.isa.find_host_isa", lambda: isa)
    for name in ("emit", "tile"):
        spec = importlib.util.find_spec(f"minispec.engine.backends.panel.{name}")
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, spec.name, module)
        spec.loader.exec_module(module)
    assert module.ISA_HERE is isa
    return module


def assembly(tile, cpu, triple, dtype, rows, panels):
    """Return the assembly of one tile."""
    try:
        target = llvm.Target.from_triple(triple)
    except RuntimeError as error:
        pytest.skip(f"this llvmlite cannot compile for {triple}: {error}")
    machine = target.create_target_machine(cpu=cpu, opt=3)
    module = ir.Module()
    module.triple, module.data_layout = triple, str(machine.target_data)
    single, size = ir.FloatType().as_pointer(), ir.IntType(64)
    weight = DTYPES[dtype].as_pointer()
    arguments = [single, weight, weight, size, single, size]
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), arguments), "tile")
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    tile.emit_tile(tile.Emitter(builder), getattr(types, dtype), rows, panels, *function.args)
    builder.ret_void()
    compiled = llvm.parse_assembly(str(module))
    compiled.verify()
    passes = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=3))
    passes.getModulePassManager().run(compiled, passes)
    return machine.emit_assembly(compiled)


def innermost_loops(text):
    """Return the lines of each loop of one block: from a label to the first branch, if that goes back to it."""
    loops, label, block = [], None, []
    for line in text.splitlines():
        if found := re.match(r"(\.?L\w+):", line):
            label, block = found[1], []
        elif re.match(r"\s+(j\w+|b(\.\w+)?|cbn?z|tbn?z)\s", line):
            if label and line.rstrip().endswith(label):
                loops.append(block)
            label, block = None, []
        else:
            block.append(line)
    return loops


def faults(isa, triple, text, sums):
    """Return what is wrong with a tile's assembly: sums outside the registers, no fused products, calls."""
    architecture = triple.split("-")[0]
    loops = [lines for lines in innermost_loops(text) if any(re.search(MULTIPLY_ADD[isa.name], line) for line in lines)]
    if not loops:
        return ["no loop of fused multiply-adds"]
    found = []
    for lines in loops:
        products = sum(bool(re.search(MULTIPLY_ADD[isa.name], line)) for line in lines)
        if products % sums:
            found.append(f"{products} fused multiply-adds for {sums} sums")
        found += [
            f"spilled: {line.strip()}"
            for line in lines
            if re.search(STACK[architecture], line) and re.search(VECTOR[architecture], line)
        ]
        found += [f"called: {line.strip()}" for line in lines if re.search(r"\s(callq?|bl)\s", line)]
    return found


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("cpu", TARGETS)
def test_sums_stay_in_registers(cpu, dtype, monkeypatch):
    isa, triple = TARGETS[cpu]
    tile = emitter_for(isa, monkeypatch)
    for rows in {1, 2, 3, isa.max_rows // 2, isa.max_rows}:
        for panels in {1, isa.panels_at_once(rows, tile.ITEM_BYTES[getattr(types, dtype)])}:
            text = assembly(tile, cpu, triple, dtype, rows, panels)
            assert faults(isa, triple, text, rows * panels * isa.vectors) == [], (rows, panels)


@pytest.mark.parametrize("cpu", ["x86-64-v3", "skylake-avx512", "neoverse-n1", "apple-m1"])
def test_a_tile_too_large_is_found(cpu, monkeypatch):
    """The control: half as many rows again do not fit the registers."""
    isa, triple = TARGETS[cpu]
    isa = dataclasses.replace(isa, max_rows=isa.max_rows + isa.max_rows // 2)
    text = assembly(emitter_for(isa, monkeypatch), cpu, triple, "float32", isa.max_rows, 1)
    assert any(fault.startswith("spilled") for fault in faults(isa, triple, text, isa.max_rows * isa.vectors))


def test_a_cpu_without_float16_conversion_is_found(monkeypatch):
    """The control of calls and of fusing: plain x86-64 has neither instruction."""
    _, triple = TARGETS["x86-64-v3"]
    text = assembly(emitter_for(AVX2, monkeypatch), "x86-64", triple, "int16", 1, 1)
    assert faults(AVX2, triple, text, 2) == ["no loop of fused multiply-adds"]
