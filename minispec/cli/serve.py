"""``minispec serve``: an HTTP server."""

from __future__ import annotations

import contextlib
import os
import signal
import stat
import threading
import webbrowser
from pathlib import Path

import click
from click.core import ParameterSource
from rich.console import Console

from minispec.cli.canary import canary as compare_arms
from minispec.cli.options import (
    FileName,
    Memory,
    ModelName,
    check_spared,
    gamma_together_option,
    kv_dtype_option,
    option,
    threads_option,
    verify_together_option,
)
from minispec.cli.sections import Group
from minispec.engine.backends import BACKENDS, DTYPES
from minispec.engine.backends.formats import AUTO
from minispec.engine.drafters.spec import KINDS, MODEL, parse_draft
from minispec.engine.files import HeldFile, check_apart, check_writable
from minispec.engine.generation.options import Options
from minispec.engine.generation.prepare import check_together
from minispec.engine.generation.ready import make_ready
from minispec.engine.loading import load_model
from minispec.engine.loading.bundled import DEFAULT_DRAFT, DEFAULT_TARGET
from minispec.errors import InputError, OptionError, missing, quote

_DRAFTS = (DEFAULT_DRAFT, "ngram", "suffix", "tree")
_MIN_KEY = 16


@click.group(cls=Group, invoke_without_command=True)
@option("--host", default="127.0.0.1", help="Address to listen on; any but a loopback address lets other machines in.")
@option("--port", type=click.IntRange(0, 65535), default=8000, help="Port to listen on; 0 takes a free one.")
@option(
    "--target",
    type=ModelName(),
    default=DEFAULT_TARGET,
    help="The model: a folder, a bundled model or a Hugging Face Hub name.",
)
@option(
    "--draft",
    multiple=True,
    default=_DRAFTS,
    type=ModelName("none", *(k for k in KINDS if k != MODEL)),
    help="A draft that requests may name; may be repeated. The first is the default.",
)
@gamma_together_option
@verify_together_option
@option(
    "--kv-memory",
    type=Memory(),
    default=None,
    show_default="enough for whole contexts",
    help="Memory for the target's keys and values, such as 64MB; drafts get as many slots in memory of their own.",
)
@option("--max-requests", type=click.IntRange(1), default=16, help="Texts to decode at the same time.")
@option(
    "--max-waiting", type=click.IntRange(1), default=256, help="Texts that may wait; further requests get status 429."
)
@option(
    "--max-seconds", type=click.FloatRange(0, min_open=True), default=600.0, help="Seconds that a request may take."
)
@option("--max-body", type=Memory(), default="1MiB", help="The largest request body to accept.")
@option(
    "--drain-seconds",
    type=click.FloatRange(0, min_open=True),
    default=30.0,
    help="Seconds that running requests have left after SIGTERM.",
)
@option(
    "--canary",
    type=click.FloatRange(0, 1),
    default=None,
    show_default="no rollout",
    help="Try the first draft on this share of the requests that name none; see `minispec serve canary`.",
)
@option("--baseline", default="none", help="The draft of the other requests that name none, during the trial.")
@option(
    "--canary-log",
    type=FileName(),
    default=None,
    show_default="none",
    help="Log the trial to this file, one line per text.",
)
@option(
    "--shadow",
    type=click.FloatRange(0, 1),
    default=0.0,
    help="Decode this share of the greedy texts again plainly, in the background, and compare.",
)
@option(
    "--api-key-file",
    type=FileName(),
    default=None,
    show_default="none",
    help="A file with the key that requests must send; it must be readable by its owner only.",
)
@option(
    "--allow-origin",
    multiple=True,
    show_default="none",
    help="Allow requests from pages of this origin, such as https://example.org; may be repeated.",
)
@option("--backend", type=click.Choice(BACKENDS), default=BACKENDS[0], help="What computes the forward pass.")
@option("--dtype", type=click.Choice((AUTO, *DTYPES)), default=AUTO, help="The format of all weights in memory.")
@kv_dtype_option
@threads_option
@click.option("--open", "opening", is_flag=True, help="Open the page in a browser.")
@click.pass_context
def serve(
    context: click.Context,
    host: str,
    port: int,
    target: str,
    draft: tuple[str, ...],
    gamma: int | str | None,
    verify: str | None,
    kv_memory: int | None,
    max_requests: int,
    max_waiting: int,
    max_seconds: float,
    max_body: int,
    drain_seconds: float,
    canary: float | None,
    baseline: str,
    canary_log: Path | None,
    shadow: float,
    api_key_file: Path | None,
    allow_origin: tuple[str, ...],
    backend: str,
    dtype: str,
    kv_dtype: str,
    opening: bool,
) -> None:
    """Serve a target over HTTP: OpenAI's completions, streamed, and a page that shows speculation live.

    The address is printed once the server answers. SIGTERM and Ctrl-C let running requests finish first.
    """
    if context.invoked_subcommand is not None:
        return
    try:
        from minispec.serving.build import build_server
        from minispec.serving.server import address_of, allowed_hosts, bind
        from minispec.serving.server import serve as run
        from minispec.serving.settings import hide_folders
    except ModuleNotFoundError as error:
        raise missing(str(error.name), "a server needs", "serve") from None
    if canary is None:
        _refuse_trial_flags()
    key = None if api_key_file is None else read_key(api_key_file)
    for each in draft:
        if each != "none":
            check_together(each, Options(verify="tree" if parse_draft(each).is_tree else verify or Options.verify))
    notes = Console(stderr=True, highlight=False)
    check_writable(canary_log)
    check_apart({"--api-key-file": api_key_file, "--canary-log": canary_log})
    check_spared({"--canary-log": canary_log}, {"target": target, "draft": draft, "gamma": gamma})
    with bind(host, port) as bound, contextlib.ExitStack() as files:
        with notes.status("loading models …"):
            model = load_model(target, backend, dtype, kv_dtype)
        make_ready([model], notes)
        with notes.status("loading drafts …") as status:
            app, service = build_server(
                model,
                target,
                draft,
                kv_memory=kv_memory,
                draft_dtype=dtype,
                kv_dtype=kv_dtype,
                say=lambda what: status.update(f"{what} …"),
                gamma=gamma,
                verify=verify,
                max_running=max_requests,
                max_waiting=max_waiting,
                max_s=max_seconds,
                max_body=max_body,
                drain_s=drain_seconds,
                api_key=key,
                origins=allow_origin,
                hosts=allowed_hosts(bound),
                canary=canary,
                baseline=hide_folders(baseline),
                shadow=shadow,
                canary_log=lambda: None if canary_log is None else files.enter_context(HeldFile(canary_log)),
            )
        bound.listen(1024)
        address = address_of(bound)
        if not service.settings.hosts and key is None:
            notes.print(f"{address} answers anyone who reaches it; --api-key-file keeps others out", markup=False)
        click.echo(f"minispec serves {service.settings.model} at {address}")
        if opening:
            # Beside: a browser in the terminal returns only when its reader leaves it.
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
        signals = run(app, service, [bound])
    if signal.SIGINT in signals:
        raise KeyboardInterrupt


serve.add_command(compare_arms)


def _refuse_trial_flags() -> None:
    """Refuse what says how to try a draft where none is tried."""
    source = click.get_current_context().get_parameter_source
    for name, flag in (("baseline", "--baseline"), ("canary_log", "--canary-log")):
        if source(name) is not ParameterSource.DEFAULT:
            raise OptionError(f"{flag} is for a trial, and there is none. Add --canary 0.1, or leave {flag} out")


def read_key(path: Path) -> str:
    """Return the key in a file.

    Raises
    ------
    InputError
        If it cannot be read, others may read it, or it is no key.
    """
    try:
        mode = path.stat().st_mode
        text = path.read_text(encoding="utf-8-sig").strip()
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or "no text"
        raise InputError(f"{quote(str(path))} cannot be read ({reason}). Name a file that holds the key") from None
    if os.name == "posix" and mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise OptionError(
            f"{quote(str(path))} can be read by others (mode {stat.S_IMODE(mode):o}); a key is for its owner alone. "
            f"Try chmod 600"
        )
    if len(text) < _MIN_KEY or not text.isascii() or not text.isprintable() or " " in text:
        raise OptionError(
            f"{quote(str(path))} holds no key of at least {_MIN_KEY} printable ASCII characters without spaces. "
            "Try: openssl rand -hex 32"
        )
    return text
