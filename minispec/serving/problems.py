"""What goes wrong, as OpenAI's error objects: a status, a type, the field, a sentence. Nothing else leaves."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from pydantic import BaseModel, ValidationError

from minispec.errors import PromptError, name_fields, quote, quote_json
from minispec.serving.schema import (
    CompletionRequest,
    JsonSchema,
    ResponseFormat,
    Speculative,
    StreamOptions,
    StructuredOutputs,
)

_TYPES = {401: "authentication_error", 429: "rate_limit_error"}


class Problem(Exception):  # noqa: N818  # a word of its own: not every one is an error of ours
    """An answer that is no success.

    Parameters
    ----------
    status : int
    message : str
    param, code : str, optional
        The field it is about; a word for programs.
    headers : mapping
    """

    def __init__(
        self,
        status: int,
        message: str,
        *,
        param: str | None = None,
        code: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.param = param
        self.code = code
        self.headers = dict(headers or {})

    @property
    def body(self) -> dict[str, Any]:
        """The JSON of the answer."""
        kind = _TYPES.get(self.status, "server_error" if self.status >= 500 else "invalid_request_error")
        return {"error": {"message": str(self), "type": kind, "param": self.param, "code": self.code}}


def describe_fault(reference: str) -> Problem:
    """Say that it was our fault, and what to look for in the log."""
    return Problem(500, f"a fault of the server; its log has it as {reference}", code=reference)


def refuse(message: str, param: str | None = None, code: str | None = None) -> NoReturn:
    """Refuse a request for what it asks."""
    raise Problem(400, message, param=param, code=code)


def from_option_error(error: Exception, names: Mapping[str, str]) -> Problem:
    """Return what the engine says of a request, with its flags as fields of a request.

    Parameters
    ----------
    error : Exception
    names : mapping of str to str
        What readers know, and what the engine calls it, which may hold a folder of this machine.

    Examples
    --------
    >>> problem = from_option_error(ValueError("verify is x. Try --verify tree, or --top-p 0.95"), {})
    >>> str(problem), problem.param
    ('verify is x. Try "verify": "tree", or "top_p": 0.95', 'speculative.verify')
    """
    message = str(error)
    for name, private in sorted(names.items(), key=lambda pair: -len(pair[1])):
        message = message.replace(private, name)
    message = name_fields(message, _NAMES)
    if isinstance(error, PromptError):  # it may speak of a token of it
        return Problem(400, message, param="prompt")
    blamed = re.match(r"(?:the )?([a-z][a-z_-]*) (?:is\b|has\b|')", message)
    if blamed is None:
        return Problem(400, message)
    field = blamed[1].replace("-", "_")
    return Problem(400, message, param=f"speculative.{field}" if field in _SPECULATIVE else field)


_SPECULATIVE = tuple(Speculative.model_fields)
_NAMES = (*CompletionRequest.model_fields, *_SPECULATIVE)
_MODELS: Mapping[str, type[BaseModel]] = {
    "": CompletionRequest,
    "speculative": Speculative,
    "stream_options": StreamOptions,
    "response_format": ResponseFormat,
    "response_format.json_schema": JsonSchema,
    "structured_outputs": StructuredOutputs,
}
_FIELDS = {
    place: tuple(field.alias or name for name, field in model.model_fields.items()) for place, model in _MODELS.items()
}

_RULES = {
    "prompt": "be a text, token ids, or a list of either; none of them empty",
    "stop": "be a text, or a list of up to four; none of them empty",
    "speculative": "be an object with draft, gamma or verify; or false for plain decoding",
    "speculative.gamma": "be a whole number from 0 on, or a policy of /v1/options",
    "best_of": "be left out: the likeliest of several is not looked for",
    "suffix": "be left out: these models continue a text and do not fill gaps",
    "logit_bias": "be left out",
}


def _join(place: Sequence[str]) -> str:
    """Return a field with the fields that it is in; pydantic's names of types, and indices, stand in a place too."""
    path = ""
    for name in place:
        if name in _FIELDS.get(path, ()):
            path = f"{path}.{name}" if path else name
    return path


def from_validation_error(error: ValidationError) -> Problem:
    """Say the first thing that is wrong with a body.

    Examples
    --------
    >>> try:
    ...     CompletionRequest.model_validate({"model": "m", "prompt": "x", "stream_options": {"include_usage": 3}})
    ... except ValidationError as error:
    ...     problem = from_validation_error(error)
    >>> str(problem), problem.param
    ('stream_options.include_usage is 3; it must be a valid boolean', 'stream_options.include_usage')
    """
    first = error.errors(include_url=False)[0]
    kind, place = first["type"], [str(part) for part in first["loc"]]
    if kind == "json_invalid":
        return Problem(
            400, f"the body is no JSON ({first['msg'].removeprefix('Invalid JSON: ')[:160]})", code="json_invalid"
        )
    if not place:
        return Problem(
            400, f"the body is {quote_json(first['input'])}; it must be an object with the fields model and prompt"
        )
    if kind == "missing":
        param = _join(place)
        needs = f"{_join(place[:-1])} needs it" if len(place) > 1 else "a request needs model and prompt"
        return Problem(400, f"{param} is missing; {needs}", param=param, code="missing_field")
    if kind == "extra_forbidden":
        outer = _join(place[:-1])
        name = ".".join(part for part in (outer, place[-1]) if part.replace(".", "_").isidentifier())[:100]
        what, there = outer or "a request", ", ".join(_FIELDS[outer])
        return Problem(
            400, f"{quote(place[-1])} is no field of {what}; there are {there}", param=name, code="unknown_field"
        )
    param = _join(place)
    said = re.fullmatch(r"\w+ should ((?:be|have) .*)", first["msg"])
    rule = _RULES.get(param) or (said[1] if said else "be something else: " + first["msg"])
    return Problem(400, f"{param} is {quote_json(first['input'])}; it must {rule}", param=param, code="invalid_value")
