"""The paths, and what is behind each of them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from http import HTTPStatus
from pathlib import Path
from typing import Any, TypeVar

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, Response
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from pydantic import ValidationError
from pydantic.json_schema import models_json_schema
from sse_starlette import EventSourceResponse
from sse_starlette.sse import AppStatus
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

import minispec
from minispec.engine.generation.result import MEANING, Generation
from minispec.engine.records import TokenDetail
from minispec.engine.tokenizer import Tokenizer
from minispec.engine.verifiers import VERIFIER_NAMES, get_verifier
from minispec.serving.answers import LogprobLog, count_usage, describe_end, join_logprobs, to_choice
from minispec.serving.choices import DEFAULT_MAX_TOKENS, list_prompts, require_model
from minispec.serving.guard import Guard
from minispec.serving.problems import Problem, from_validation_error
from minispec.serving.schema import MAX_LOGPROBS, CompletionAnswer, CompletionRequest, ErrorAnswer
from minispec.serving.scoring import list_prefixes
from minispec.serving.service import InFlight, Service, find_end
from minispec.serving.settings import PLAIN, POLICIES, Settings
from minispec.serving.streaming import Streamer, without_infinities
from minispec.serving.worker import Failed

Answers = dict[int | str, dict[str, Any]]
Read = TypeVar("Read", bound=Callable[..., Awaitable[Any]])

PAGE = Path(__file__).parent / "page"
PING_S = 15.0
_CLOSED = 499
"""For the metrics: nobody gets it."""

_log = logging.getLogger(__name__)


def build_app(service: Service, tokenizer: Tokenizer) -> FastAPI:
    """Return the application; its lifespan is that of the worker's thread.

    Parameters
    ----------
    service : Service
    tokenizer : Tokenizer
        The target's.
    """
    # By default sse-starlette ends every stream as soon as the server is told to stop; ours may end by themselves.
    AppStatus.disable_automatic_graceful_drain()  # type: ignore[no-untyped-call]

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        service.worker.start(asyncio.get_running_loop())
        yield
        await service.worker.stop()

    app = FastAPI(
        title="minispec",
        version=minispec.__version__,
        description="Speculative decoding behind OpenAI's completions.",
        docs_url=None,  # these pages would come from another site
        redoc_url=None,
        lifespan=lifespan,
        redirect_slashes=False,  # an answer would name the host that the request names
    )
    app.add_middleware(Guard, settings=service.settings, note_refused=service.metrics.note_refused)
    if service.settings.origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=service.settings.origins,
            allow_methods=["GET", "POST"],
            allow_headers=["authorization", "content-type"],
        )
    _add_problem_answers(app)
    _add_completions(app, service, tokenizer)
    _add_lists(app, service)
    _add_watchers(app, service)
    app.router.default = _Page(directory=PAGE, html=True)  # not mounted: a mount at / hides every 405
    _describe_bodies(app, service.settings)
    return app


class _Page(StaticFiles):
    """The page's files; where none is, nothing is, however it is asked for."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        """Answer a request; a path that no file system takes (a NUL, a name too long) is none of ours either."""
        try:
            is_there = self.lookup_path(path)[1] is not None
        except (OSError, ValueError):
            is_there = False
        if not is_there:
            raise HTTPException(404)
        return await super().get_response(path, scope)


def _add_problem_answers(app: FastAPI) -> None:
    @app.exception_handler(Problem)
    async def answer(request: Request, problem: Problem) -> JSONResponse:
        return JSONResponse(problem.body, problem.status, problem.headers)

    @app.exception_handler(HTTPException)
    async def answer_http(request: Request, error: HTTPException) -> JSONResponse:
        messages = {
            404: f"there is no {request.method} {request.url.path[:100]}; see /openapi.json",
            405: f"{request.url.path[:100]} does not answer {request.method}",
        }
        problem = Problem(error.status_code, messages.get(error.status_code, HTTPStatus(error.status_code).phrase))
        return JSONResponse(problem.body, problem.status, error.headers)

    @app.exception_handler(ClientDisconnect)
    async def answer_nobody(request: Request, error: ClientDisconnect) -> Response:
        return Response(status_code=_CLOSED)


def _add_completions(app: FastAPI, service: Service, tokenizer: Tokenizer) -> None:
    refusals: Answers = {
        status: {"model": ErrorAnswer, "description": HTTPStatus(status).phrase}
        for status in (400, 401, 404, 408, 413, 415, 429, 500, 503)
    }

    event = {"type": "object", "properties": {"event": {"type": "string"}, "data": {"type": "string"}}}
    streamed = {"text/event-stream": {"schema": event}}
    answers: Answers = {200: {"model": CompletionAnswer, "content": streamed}, **refusals}

    @app.post("/v1/completions", response_model=None, responses=answers)
    async def completions(request: Request) -> Response:
        """Continue one or several prompts."""
        asked = await read_request(request, service)
        flight = await service.begin(asked)
        try:
            if asked.stream:
                return _Stream(Streamer(flight, tokenizer, service), flight, service)
            answer = await _unless_gone(request, _collect(flight, tokenizer, service))
        except BaseException:
            service.end(flight)
            raise
        service.end(flight)
        return JSONResponse(answer)

    @app.post("/v1/chat/completions", include_in_schema=False)
    async def chat() -> None:
        raise Problem(
            404,
            f"{service.settings.model} is a base model: it continues texts and knows no chats. Use /v1/completions",
            code="no_chat_template",
        )


class _Stream(EventSourceResponse):
    """A streamed answer; however it ends, its request does."""

    def __init__(self, streamer: Streamer, flight: InFlight, service: Service) -> None:
        super().__init__(streamer.events(), ping=PING_S, sep="\n")
        self._flight = flight
        self._service = service

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Send it."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._service.end(self._flight)


async def read_request(request: Request, service: Service) -> CompletionRequest:
    """Read and check a body.

    Raises
    ------
    Problem
        If it is too large, too slow, or no request.
    """
    settings = service.settings
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Problem(415, "a body must be JSON and say so: send the header Content-Type: application/json")
    too_large = Problem(413, f"the body has more than {settings.max_body} bytes, which is the most this server reads")
    length = request.headers.get("content-length", "0")
    if not length.isdigit() or int(length[:20]) > settings.max_body:
        raise too_large
    body = bytearray()
    try:
        async with asyncio.timeout(settings.body_s):
            async for part in request.stream():
                body += part
                if len(body) > settings.max_body:
                    raise too_large
    except TimeoutError:
        raise Problem(408, f"the body did not arrive within {settings.body_s:g} seconds") from None
    try:
        return CompletionRequest.model_validate_json(bytes(body))
    except ValidationError as error:
        raise from_validation_error(error) from None


async def _collect(flight: InFlight, tokenizer: Tokenizer, service: Service) -> dict[str, Any]:
    """Wait for all choices and return the answer."""
    prefixes = await list_prefixes(flight, tokenizer, service)
    ended: dict[int, tuple[Generation, str]] = {}
    while len(ended) < len(flight.choices):
        for told in await flight.mailbox.take():
            if isinstance(told.what, Failed):
                raise service.describe_failure(told.what)
            if told.is_last:
                ended[told.index] = find_end(told.what)
    choices = []
    for index, prefix in enumerate(prefixes):
        generation, finish = ended[index]
        logprobs = None
        if flight.request.logprobs is not None:
            log = LogprobLog(flight.request.logprobs, tokenizer, prefix.num_characters)
            details: list[TokenDetail] = [detail for step in generation.steps for detail in step.details]
            own = log.add(generation.token_ids, details)
            logprobs = own if prefix.logprobs is None else join_logprobs([prefix.logprobs, own])
        end = describe_end(generation, finish, flight.choices[index].draft_name, flight.arm)
        choices.append(to_choice(index, prefix.text + generation.text, logprobs, (finish, end)))
    generations = [ended[i][0] for i in range(len(ended))]
    usage = count_usage(generations, len(list_prompts(flight.request)), flight.ticket.cached)
    whole = flight.envelope.wrap(choices, usage, flight.describe_acceptance(generations))
    answer: dict[str, Any] = without_infinities(whole)
    return answer


async def _unless_gone(request: Request, work: Any) -> Any:
    """Return what ``work`` gives, unless the reader goes away first."""
    working, leaving = asyncio.ensure_future(work), asyncio.ensure_future(_until_gone(request))
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ClientDisconnect
        return working.result()
    finally:
        working.cancel()
        leaving.cancel()


async def _until_gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _get(app: FastAPI, path: str, **how: Any) -> Callable[[Read], Read]:
    """Return what adds an answer to GET, and to HEAD, which FastAPI leaves out."""

    def add(answer: Read) -> Read:
        app.head(path, include_in_schema=False, **how)(answer)
        return app.get(path, **how)(answer)

    return add


def _add_lists(app: FastAPI, service: Service) -> None:
    settings = service.settings

    def describe() -> dict[str, Any]:
        return {"id": settings.model, "object": "model", "created": 0, "owned_by": "minispec"}

    @_get(app, "/v1/models")
    async def models() -> dict[str, Any]:
        """List the served target."""
        return {"object": "list", "data": [describe()]}

    @_get(app, "/v1/models/{model}", responses={404: {"model": ErrorAnswer}})
    async def model(model: str) -> dict[str, Any]:
        """Describe the served target."""
        require_model(model, settings)
        return describe()

    @_get(app, "/v1/options")
    async def options() -> dict[str, Any]:
        """List what a request may ask for."""
        return describe_options(service)


def describe_options(service: Service) -> dict[str, Any]:
    """Return what a request may ask for, and the bounds."""
    settings = service.settings
    default = settings.default_draft
    rule = settings.rule_for(default)
    gamma = settings.gamma_for(default, rule)
    rules = [get_verifier(name) for name in VERIFIER_NAMES]
    return {
        "model": settings.model,
        "context": settings.context,
        "drafts": [{"name": name, "tree": settings.is_tree(name)} for name in settings.drafts],
        "rules": [
            {"name": name, "lossless": rule.lossless, "same_seed": rule.same_seed, "trees": rule.trees}
            for name, rule in zip(VERIFIER_NAMES, rules, strict=True)
        ],
        "gamma": {"min": 0, "max": settings.max_gamma, "default": gamma, "policies": list(POLICIES)},
        "temperature": {"min": 0, "max": 2, "default": 1},
        "top_p": {"exclusiveMinimum": 0, "max": 1, "default": 1},
        "max_tokens": {"min": 0, "max": settings.context - 1, "default": DEFAULT_MAX_TOKENS},
        "n": {"min": 1, "max": settings.most_choices, "default": 1},
        "logprobs": {"min": 0, "max": MAX_LOGPROBS},
        "defaults": {"draft": default, "gamma": gamma, "verify": rule},
        "guarantees": dict(MEANING),
        "needs_key": settings.api_key is not None,
    }


def _add_watchers(app: FastAPI, service: Service) -> None:
    @_get(app, "/health", responses={503: {"model": ErrorAnswer}})
    async def health() -> dict[str, str]:
        """Say whether the process works."""
        if not service.worker.is_alive:
            raise Problem(503, "the engine's thread has ended; restart the server", code="engine_dead")
        return {"status": "ok"}

    @_get(app, "/ready", responses={503: {"model": ErrorAnswer}})
    async def ready() -> dict[str, str]:
        """Say whether requests are let in."""
        if service.draining:
            raise Problem(503, "the server is shutting down", code="draining")
        return {"status": "ready"}

    @_get(app, "/metrics", response_class=Response)
    async def metrics() -> Response:
        """Count, for Prometheus."""
        return Response(generate_latest(service.metrics.registry), media_type=CONTENT_TYPE_LATEST)


def _describe_bodies(app: FastAPI, settings: Settings) -> None:
    """Put the request's schema into the OpenAPI description, with what this server has: bodies are read here."""
    describe = app.openapi
    drafts = {"draft": (*settings.drafts, PLAIN), "verify": VERIFIER_NAMES}

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            found = describe()
            _, schema = models_json_schema(
                [(CompletionRequest, "validation")], ref_template="#/components/schemas/{model}"
            )
            request, speculative = (
                schema["$defs"][name]["properties"] for name in ("CompletionRequest", "Speculative")
            )
            request["model"]["enum"] = [settings.model]
            request["max_tokens"]["anyOf"][0]["maximum"] = settings.context - 1
            request["n"]["anyOf"][0]["maximum"] = settings.most_choices
            for prompts in request["prompt"]["anyOf"][1]["anyOf"]:
                if prompts.get("items", {}).get("type") in ("string", "array"):  # several prompts, not tokens of one
                    prompts["maxItems"] = settings.most_choices
            for name, there in drafts.items():
                speculative[name]["anyOf"][0] = {"type": "string", "enum": list(there)}
            speculative["gamma"]["anyOf"][0]["maximum"] = settings.max_gamma
            speculative["gamma"]["anyOf"][1] = {"type": "string", "enum": list(POLICIES)}
            found.setdefault("components", {}).setdefault("schemas", {}).update(schema["$defs"])
            content = {"application/json": {"schema": {"$ref": "#/components/schemas/CompletionRequest"}}}
            found["paths"]["/v1/completions"]["post"]["requestBody"] = {"required": True, "content": content}
            app.openapi_schema = found
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]  # FastAPI's own way
