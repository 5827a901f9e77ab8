"""What a request may say, as OpenAPI describes it and pydantic checks it: names, types and ranges.

What depends on the models (which drafts there are, how long a prompt may be) is checked in
:mod:`minispec.serving.choices`.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

MAX_SEED = 2**63 - 1
MAX_LOGPROBS = 5
MAX_STOPS = 4

Count = Annotated[int, Field(ge=0, le=2**31 - 1)]
Penalty = Annotated[float, Field(ge=-2.0, le=2.0)]
MAX_FORM = 20_000

Form = Annotated[str, Field(min_length=1, max_length=MAX_FORM)]
Choices = Annotated[list[Annotated[str, Field(min_length=1, max_length=1000)]], Field(min_length=1, max_length=100)]
StopText = Annotated[str, Field(min_length=1, max_length=1000)]
TokenIds = Annotated[list[Count], Field(min_length=1)]


class _Strict(BaseModel):
    """No other fields, no conversions, no NaN."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class StreamOptions(_Strict):
    """How to stream."""

    include_usage: bool | None = None
    continuous_usage_stats: bool | None = Field(
        default=None, description="With include_usage: every chunk says what was used so far."
    )
    include_obfuscation: bool | None = Field(default=None, description="Accepted, and without effect.")


class Speculative(_Strict):
    """How to speculate; what is left out is the server's default, but for a tree, which the rule tree judges."""

    draft: Annotated[str, Field(max_length=200)] | None = Field(
        default=None, description='One of /v1/options, or "none".'
    )
    gamma: Count | Annotated[str, Field(max_length=200)] | None = Field(
        default=None, description="Tokens to draft per step, or a policy of /v1/options."
    )
    verify: Annotated[str, Field(max_length=200)] | None = Field(default=None, description="A rule of /v1/options.")


class JsonSchema(_Strict):
    """A schema with OpenAI's name for it, which changes nothing."""

    name: Annotated[str, Field(max_length=200)] | None = None
    description: Annotated[str, Field(max_length=MAX_FORM)] | None = None
    schema_: dict[str, Any] = Field(alias="schema")
    strict: bool | None = Field(default=None, description="A schema is always kept to.")


class ResponseFormat(_Strict):
    """The form that the text must have, as OpenAI says it."""

    type: Literal["text", "json_object", "json_schema"]
    json_schema: JsonSchema | None = None


class StructuredOutputs(_Strict):
    """The form that the text must have, as vLLM says it; one of these."""

    json_: dict[str, Any] | Annotated[str, Field(max_length=MAX_FORM)] | None = Field(default=None, alias="json")
    regex: Form | None = None
    choice: Choices | None = None
    json_object: bool | None = None


class CompletionRequest(_Strict):
    """The body of ``POST /v1/completions``."""

    model: str
    prompt: (
        Annotated[str, Field(min_length=1)]
        | Annotated[TokenIds | list[Annotated[str, Field(min_length=1)]] | list[TokenIds], Field(min_length=1)]
    )
    max_tokens: Count | None = None
    temperature: Annotated[float, Field(ge=0.0, le=2.0)] | None = None
    top_p: Annotated[float, Field(gt=0.0, le=1.0)] | None = None
    n: Annotated[int, Field(ge=1, le=1000)] | None = None
    stop: StopText | Annotated[list[StopText], Field(max_length=MAX_STOPS)] | None = None
    seed: Annotated[int, Field(ge=0, le=MAX_SEED)] | None = None
    presence_penalty: Penalty | None = None
    frequency_penalty: Penalty | None = None
    logprobs: Annotated[int, Field(ge=0, le=MAX_LOGPROBS)] | None = None
    echo: bool | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    user: Annotated[str, Field(max_length=1000)] | None = None
    best_of: Annotated[int, Field(ge=1, le=1)] | None = None
    suffix: Annotated[str, Field(max_length=0)] | None = None
    logit_bias: Annotated[dict[str, Any], Field(max_length=0)] | None = None
    top_k: Annotated[int, Field(ge=0, le=2**63 - 1)] | None = None
    min_p: Annotated[float, Field(ge=0.0, le=1.0)] | None = None
    repetition_penalty: Annotated[float, Field(ge=1e-6, le=1e6)] | None = None
    min_tokens: Count | None = None
    ignore_eos: bool | None = Field(default=None, description="true: min_tokens is max_tokens.")
    response_format: ResponseFormat | None = None
    structured_outputs: StructuredOutputs | None = None
    regex: Form | None = Field(default=None, description="The whole text must match it.")
    json_schema: dict[str, Any] | Form | None = Field(default=None, description="A schema, or its JSON as a text.")
    guided_regex: Form | None = None
    guided_json: dict[str, Any] | Form | None = None
    guided_choice: Choices | None = None
    per_request_spec_decode_metrics: Literal["none", "summary", "detailed"] = Field(
        default="summary", description="What metrics.speculative_decoding holds; detailed adds arrays per step."
    )
    speculative: Speculative | bool | None = Field(default=None, description="false decodes plainly.")
    events: bool = Field(default=False, description="With stream: tell every event of every run.")
    provisional: bool = Field(default=False, description="With stream: show drafts before they are verified.")
    smooth: bool = Field(default=False, description="With stream: let the tokens of a step appear one by one.")


class ErrorBody(BaseModel):
    """What went wrong, as OpenAI says it."""

    message: str
    type: str
    param: str | None
    code: str | None


class ErrorAnswer(BaseModel):
    """The body of every answer that is no success."""

    error: ErrorBody


class PromptTokensDetails(BaseModel):
    """How the prompts were read."""

    cached_tokens: int


class Usage(BaseModel):
    """Tokens of all choices together."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    prompt_tokens_details: PromptTokensDetails


class Logprobs(BaseModel):
    """Log probabilities, one entry per token."""

    tokens: list[str]
    token_logprobs: list[float | None]
    top_logprobs: list[dict[str, float] | None] | None
    text_offset: list[int]


class ChoiceAnswer(BaseModel):
    """One continuation."""

    index: int
    text: str
    logprobs: Logprobs | None
    finish_reason: str | None
    minispec: dict[str, Any] | None = None


class CompletionAnswer(BaseModel):
    """The answer of ``POST /v1/completions``, and each chunk of its stream."""

    id: str
    object: str
    created: int
    model: str
    choices: list[ChoiceAnswer]
    usage: Usage | None = None
    metrics: dict[str, Any] | None = None
