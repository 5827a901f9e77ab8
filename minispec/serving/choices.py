"""From a request to the runs it asks for, checked against what this server serves."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from minispec.engine.verifiers import get_verifier
from minispec.errors import OptionError, quote
from minispec.serving.problems import Problem, refuse
from minispec.serving.schema import MAX_SEED, CompletionRequest, Speculative
from minispec.serving.settings import PLAIN, POLICIES, Settings

DEFAULT_MAX_TOKENS = 16  # OpenAI's, as are the temperature and top_p below


@dataclass(frozen=True)
class Choice:
    """One run.

    Parameters
    ----------
    index : int
    prompt : str or list of int
    draft : str or None
        As the engine is asked for it.
    draft_name : str or None
        As the reader is told.
    options : mapping
        Of :class:`minispec.engine.generation.options.Options`.
    """

    index: int
    prompt: str | list[int]
    draft: str | None
    draft_name: str | None
    options: Mapping[str, Any]


@dataclass(frozen=True)
class Speculation:
    """How choices are drafted and judged; ``draft`` is the server's name for it, None for plain decoding."""

    draft: str | None
    gamma: int | str
    verify: str


def list_prompts(request: CompletionRequest) -> list[str | list[int]]:
    """Return the prompts of a request."""
    prompt = request.prompt
    if isinstance(prompt, str):
        return [prompt]
    if isinstance(prompt[0], int):
        return [[token for token in prompt if isinstance(token, int)]]
    return [each for each in prompt if not isinstance(each, int)]


def choose_speculation(request: CompletionRequest, settings: Settings) -> Speculation | None:
    """Return how the request itself wants to speculate; None if it does not say.

    Raises
    ------
    Problem
        If it names what this server does not have.
    """
    asked = request.speculative
    if asked is None or asked is True:
        return None
    if asked is False:
        return Speculation(None, 0, settings.rule_for(PLAIN))
    assert isinstance(asked, Speculative)
    return complete(asked, settings)


def complete(asked: Speculative, settings: Settings) -> Speculation:
    """Fill in the server's defaults, and refuse what it does not have."""
    name = settings.default_draft if asked.draft is None else asked.draft
    if name not in (*settings.drafts, PLAIN):
        there = ", ".join((*settings.drafts, PLAIN))
        refuse(f"draft is {quote(name)}; this server has {there}", "speculative.draft")
    draft = None if name == PLAIN else name
    verify = settings.rule_for(name, asked.gamma) if asked.verify is None else asked.verify
    try:
        get_verifier(verify)
    except OptionError as error:
        refuse(str(error).partition(" Try --")[0], "speculative.verify")
    if asked.gamma is None:
        return Speculation(draft, settings.gamma_for(name, verify), verify)
    if isinstance(asked.gamma, str) and asked.gamma not in POLICIES:
        there = ", ".join(POLICIES)
        refuse(
            f"gamma is {quote(asked.gamma)}; it must be a number up to {settings.max_gamma}, or one of {there}",
            "speculative.gamma",
        )
    if isinstance(asked.gamma, int) and asked.gamma > settings.max_gamma:
        refuse(f"gamma is {asked.gamma}; this server drafts up to {settings.max_gamma} tokens", "speculative.gamma")
    return Speculation(draft, asked.gamma, verify)


def default_speculation(settings: Settings) -> Speculation:
    """Return how a request is decoded that does not say."""
    return complete(Speculative(), settings)


def list_choices(
    request: CompletionRequest, settings: Settings, speculation: Speculation, *, watched: bool = False
) -> list[Choice]:
    """Return the runs of a request, in the order of their indices.

    Parameters
    ----------
    request : CompletionRequest
    settings : Settings
    speculation : Speculation
    watched : bool
        Record what the target thinks of each token, also if the reader does not ask for it.

    Raises
    ------
    Problem
        If the request asks for more than this server gives.
    """
    _check(request, settings)
    prompts, n = list_prompts(request), request.n or 1
    if len(prompts) * n > settings.most_choices:
        refuse(
            f"prompts ({len(prompts)}) times n ({n}) makes {len(prompts) * n} choices; a request to this server has up "
            f"to {settings.most_choices}. Send several requests",
            "n",
        )
    for prompt in prompts:
        _check_length(prompt, settings)
    seed = secrets.randbits(53) if request.seed is None else request.seed  # 53: a number that JavaScript can hold
    last = len(prompts) * n - 1
    if seed + last > MAX_SEED:
        refuse(
            f"seed is {seed}; choice {last} has that plus {last}, and seeds end at {MAX_SEED}. Ask for up to "
            f"{MAX_SEED - last}",
            "seed",
        )
    options = _list_options(request, speculation)
    options["logprobs"] |= watched
    spec = None if speculation.draft is None else settings.drafts[speculation.draft]
    return [
        Choice(i, prompt, spec, speculation.draft, {**options, "seed": seed + i})
        for i, prompt in enumerate(prompt for prompt in prompts for _ in range(n))
    ]


def require_model(name: str, settings: Settings) -> None:
    """Refuse any model but the one that is served.

    Raises
    ------
    Problem
        If it is another one.
    """
    if name != settings.model:
        words = f"the model is {quote(name)}; this server has {settings.model}"
        raise Problem(404, words, param="model", code="model_not_found")


def _check(request: CompletionRequest, settings: Settings) -> None:
    require_model(request.model, settings)
    if request.max_tokens == 0 and not request.echo:
        refuse("max_tokens is 0; that needs echo, or there is nothing to answer. Ask for at least 1", "max_tokens")
    most = DEFAULT_MAX_TOKENS if request.max_tokens is None else request.max_tokens
    if (request.min_tokens or 0) > most:
        refuse(
            f"min_tokens is {request.min_tokens} and max_tokens {most}; the first must be at most the second. Ask for "
            f"a min_tokens of {most}, or for more max_tokens",
            "min_tokens",
        )
    if (request.max_tokens or 0) >= settings.context:
        refuse(
            f"max_tokens is {request.max_tokens}; with a prompt, {settings.model} holds {settings.context}. "
            f"Ask for up to {settings.context - 1}",
            "max_tokens",
        )
    for name in ("events", "provisional", "smooth", "stream_options"):
        if getattr(request, name) and not request.stream:
            refuse(f"{name} is about a stream, and this request wants none. Add stream, or leave it out", name)
    if request.smooth and request.provisional:
        refuse("smooth spreads what provisional shows at once, drafts included. Leave one of them out", "smooth")


def _check_length(prompt: str | list[int], settings: Settings) -> None:
    """Refuse a prompt that cannot fit, before anyone spends time on it."""
    size, most, what = len(prompt), settings.context, "token ids"
    if isinstance(prompt, str):
        size, most, what = len(prompt.encode("utf-8", "replace")), settings.max_prompt_bytes, "bytes"
    if size > most:
        refuse(
            f"the prompt has {size} {what}; {settings.model} holds {settings.context} tokens, which are at most {most} "
            f"{what}. Shorten it",
            "prompt",
            "context_length_exceeded",
        )


_META = frozenset("\\.+*?()|[]{}^$")


def find_form(request: CompletionRequest) -> dict[str, str]:
    r"""Return the form that a request wants its text to have, as the engine's option ``regex`` or ``json_schema``.

    Raises
    ------
    Problem
        If there are several, or a format lacks its schema.

    Examples
    --------
    >>> find_form(CompletionRequest(model="m", prompt="x", guided_choice=["yes", "no."]))
    {'regex': '(yes|no\\.)'}
    """
    asked = request.response_format
    if asked is not None and (asked.type == "json_schema") != (asked.json_schema is not None):
        refuse(
            f"response_format has type {quote(asked.type)}, and json_schema belongs to the type json_schema alone. "
            'Send {"type": "json_schema", "json_schema": {"schema": {...}}}',
            "response_format",
        )
    outputs = request.structured_outputs
    found: dict[str, dict[str, str]] = {}

    def note(field: str, kind: str, value: Any) -> None:
        if value is not None and value is not False:
            found[field] = {kind: value if isinstance(value, str) else json.dumps(value)}

    def either(field: str, choices: list[str] | None) -> None:
        if choices is not None:
            escaped = ("".join("\\" + c if c in _META else c for c in choice) for choice in choices)
            note(field, "regex", f"({'|'.join(escaped)})")

    if asked is not None:
        schema = asked.json_schema.schema_ if asked.json_schema else {"type": "object"}
        note("response_format", "json_schema", None if asked.type == "text" else schema)
    if outputs is not None:
        note("structured_outputs.json", "json_schema", outputs.json_)
        note("structured_outputs.regex", "regex", outputs.regex)
        note("structured_outputs.json_object", "json_schema", {"type": "object"} if outputs.json_object else None)
        either("structured_outputs.choice", outputs.choice)
    for field, kind in (("regex", "regex"), ("json_schema", "json_schema"), ("guided_regex", "regex"),
                        ("guided_json", "json_schema")):  # fmt: skip
        note(field, kind, getattr(request, field))
    either("guided_choice", request.guided_choice)
    if len(found) > 1:
        refuse(f"{' and '.join(found)} each say what form the text has; it can have one. Leave one out", [*found][1])
    return next(iter(found.values()), {})


_PASSED_ON = ("presence_penalty", "frequency_penalty", "repetition_penalty", "top_k", "min_p", "min_tokens")
"""Fields of a request that are called so in :class:`Options` too."""


def _list_options(request: CompletionRequest, speculation: Speculation) -> dict[str, Any]:
    stop = request.stop
    given = {name: getattr(request, name) for name in _PASSED_ON}
    most = DEFAULT_MAX_TOKENS if request.max_tokens is None else request.max_tokens
    if request.ignore_eos:
        given["min_tokens"] = most
    return {
        "temperature": 1.0 if request.temperature is None else request.temperature,
        "top_p": 1.0 if request.top_p is None else request.top_p,
        "max_tokens": most,
        "stop": () if stop is None else (stop,) if isinstance(stop, str) else tuple(stop),
        "logprobs": request.logprobs is not None or request.events,
        "gamma": speculation.gamma,
        "verify": speculation.verify,
        **find_form(request),
        **{name: value for name, value in given.items() if value is not None},
    }
