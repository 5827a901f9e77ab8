"""``minispec warmup``: compile now what the first run would otherwise wait for."""

from __future__ import annotations

import time

import click
from rich.console import Console

from minispec.cli.options import kv_dtype_option, option
from minispec.cli.sections import Command
from minispec.engine.backends import BACKENDS, DTYPES, get_backend, settle_kv_dtype
from minispec.engine.generation.ready import compile_sampling_beside, find_compiled_folder, log_remarks


@click.command(cls=Command)
@option("--backend", type=click.Choice(BACKENDS), default=BACKENDS[0], help="What computes the forward pass.")
@option(
    "--dtype",
    type=click.Choice((*DTYPES, "all")),
    default="float16",
    help="The format of weights in memory; by default, the bundled models' own.",
)
@kv_dtype_option
def warmup(backend: str, dtype: str, kv_dtype: str) -> None:
    """Compile the kernels into a cache that later runs read, and print where it is."""
    notes = Console(stderr=True, highlight=False)
    parts = {f"kernels for {each}": each for each in (get_backend(backend).dtypes if dtype == "all" else (dtype,))}
    started = time.perf_counter()
    with notes.status("compiling …") as status, compile_sampling_beside():
        for number, (name, each) in enumerate(parts.items(), 1):
            status.update(f"compiling {name} ({number} of {len(parts)}) …")
            runner = get_backend(backend)
            runner.warm_up(each, settle_kv_dtype(runner, each, kv_dtype))
    log_remarks()
    click.echo(f"ready in {time.perf_counter() - started:.1f} s")
    click.echo(f"kept in {find_compiled_folder() or 'memory alone: every run compiles again'}")
