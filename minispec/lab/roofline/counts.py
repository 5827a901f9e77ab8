"""Operations and bytes of every part of a forward, counted from the model's sizes.

The conventions, which the tests' ``CountingBackend`` follows on real calls:

- A multiplication, an addition, a comparison and an exponential are one operation each.
- A weight is read once per forward, however many rows use it; so is a cached key or value, once per sequence. That is
  what the kernels do for the rows of one pass, and what caches do for further passes.
- Activations are read and written at every call: they stay near, but a large prefill has many.
- Padding is bytes read and no operations done: what a kernel multiplies by zero is none of the forward's work.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from minispec.engine.backends.formats import ITEM_BYTES
from minispec.engine.sampling.params import is_whole
from minispec.errors import OptionError, quote
from minispec.lab.roofline.shapes import Shape

ACTIVATION_BYTES = 4
"""Activations are float32, here."""

NORM_OPERATIONS = 8
"""Per element: one for the mean, three for the variance, four to normalise, scale and shift."""

ACTIVATION_OPERATIONS = {"gelu_new": 9, "gelu": 6, "relu": 1, "silu": 4, "tanh": 1}
"""Per element, from the formulas: tanh, erf and exp count as one."""

SCORE_OPERATIONS = 5
"""Per score besides its dot product: scale, largest, subtract, exponential, sum."""


@dataclass(frozen=True, slots=True)
class Part:
    """What a part of the forward costs, over all of its calls.

    Attributes
    ----------
    name : str
    calls : int
        Times it runs in one forward.
    flops : int
        Operations.
    weight_bytes : int
        Weights read: matrices with their padding and scales, biases, norms, rows of the embedding tables.
    cache_bytes : int
        Cached keys or values read.
    input_bytes, output_bytes : int
        Activations read and written; the new keys and values among them.
    padding_bytes : int
        How many of ``weight_bytes`` are padding.
    """

    name: str
    calls: int = 1
    flops: int = 0
    weight_bytes: int = 0
    cache_bytes: int = 0
    input_bytes: int = 0
    output_bytes: int = 0
    padding_bytes: int = 0

    @property
    def streamed_bytes(self) -> int:
        """Weights and cache: what every forward reads again from wherever it lives."""
        return self.weight_bytes + self.cache_bytes

    @property
    def local_bytes(self) -> int:
        """Activations: written by one part, read by the next."""
        return self.input_bytes + self.output_bytes

    @property
    def total_bytes(self) -> int:
        """All of it."""
        return self.streamed_bytes + self.local_bytes

    @property
    def intensity(self) -> float:
        """Operations per byte."""
        return self.flops / self.total_bytes

    def times(self, calls: int) -> Part:
        """Return the cost of ``calls`` such calls."""
        return Part(
            name=self.name,
            calls=self.calls * calls,
            flops=self.flops * calls,
            weight_bytes=self.weight_bytes * calls,
            cache_bytes=self.cache_bytes * calls,
            input_bytes=self.input_bytes * calls,
            output_bytes=self.output_bytes * calls,
            padding_bytes=self.padding_bytes * calls,
        )

    def plus(self, other: Part) -> Part:
        """Return both together, under this one's name."""
        return Part(
            name=self.name,
            calls=self.calls + other.calls,
            flops=self.flops + other.flops,
            weight_bytes=self.weight_bytes + other.weight_bytes,
            cache_bytes=self.cache_bytes + other.cache_bytes,
            input_bytes=self.input_bytes + other.input_bytes,
            output_bytes=self.output_bytes + other.output_bytes,
            padding_bytes=self.padding_bytes + other.padding_bytes,
        )


def total(parts: Iterable[Part], name: str = "forward") -> Part:
    """Return the sum of parts.

    Examples
    --------
    >>> total([Part("a", flops=2), Part("b", flops=3)]).flops
    5
    """
    whole = Part(name, calls=0)
    for part in parts:
        whole = whole.plus(part)
    return whole


@dataclass(frozen=True, slots=True)
class Storage:
    """How a backend keeps matrices.

    Attributes
    ----------
    dtype : str
        Format of the weights in memory, one of :data:`minispec.engine.backends.DTYPES`.
    panel : int
        Outputs are padded with zeros to a multiple of this.
    always_biased : bool
        Matrices without a bias are given one of zeros, which is read and added.
    """

    dtype: str = "float32"
    panel: int = 1
    always_biased: bool = False

    def __post_init__(self) -> None:
        if self.dtype not in ITEM_BYTES:
            raise OptionError(
                f"dtype is {quote(self.dtype)}; it must be one of {', '.join(ITEM_BYTES)}. Try --dtype float32"
            )

    @property
    def bytes_per_weight(self) -> int:
        """Its size, the s of the formulas."""
        return ITEM_BYTES[self.dtype]

    @property
    def scale_bytes(self) -> int:
        """Bytes of a channel's scale."""
        return 4 if self.dtype == "int8" else 0

    def matrix_bytes(self, num_inputs: int, num_outputs: int) -> tuple[int, int]:
        """Return the bytes of a packed matrix with its scales, and how many of them are padding."""
        outputs = -(-num_outputs // self.panel) * self.panel
        weights = num_inputs * outputs * self.bytes_per_weight
        padding = weights - num_inputs * num_outputs * self.bytes_per_weight
        return weights + self.scale_bytes * num_outputs, padding


def count_linear(
    name: str, storage: Storage, rows: int, num_inputs: int, num_outputs: int, *, biased: bool, residual: bool
) -> Part:
    """Count x @ W + bias (+ residual) for ``rows`` rows: 2 K N operations per row, and one per addition."""
    biased = biased or storage.always_biased
    matrix, padding = storage.matrix_bytes(num_inputs, num_outputs)
    return Part(
        name,
        flops=rows * num_outputs * (2 * num_inputs + biased + residual),
        weight_bytes=matrix + (ACTIVATION_BYTES * num_outputs if biased else 0),
        input_bytes=ACTIVATION_BYTES * rows * (num_inputs + (num_outputs if residual else 0)),
        output_bytes=ACTIVATION_BYTES * rows * num_outputs,
        padding_bytes=padding,
    )


def count_forward(
    shape: Shape,
    rows: int,
    context: int,
    *,
    batch: int = 1,
    storage: Storage | None = None,
    activation: str = "gelu_new",
    num_logits: int | None = None,
    kv_bytes: int = 4,
) -> tuple[Part, ...]:
    """Count every part of a forward.

    Parameters
    ----------
    shape : Shape
    rows : int
        m, new tokens of each sequence: 1 to decode, gamma + 1 to verify.
    context : int
        Tokens each sequence has in the cache already.
    batch : int
        B, sequences.
    storage : Storage, optional
        Float32 without padding by default.
    activation : str
        The MLP's, for GPT-2; a gated one is counted as SiLU times the gate.
    num_logits : int, optional
        Rows of each sequence that get logits; all by default.
    kv_bytes : int
        Bytes per number of the cache.

    Returns
    -------
    tuple of Part
        In the order of the forward; a part that runs once per layer is summed over the layers.

    Raises
    ------
    OptionError
        If a count is out of range.

    Examples
    --------
    >>> from minispec.lab.roofline.shapes import get_shape
    >>> step = total(count_forward(get_shape("gpt2"), rows=1, context=256))
    >>> round(step.weight_bytes / 1e6), round(step.flops / 1e6)
    (495, 257)
    """
    if not all(map(is_whole, (rows, context, batch))) or rows < 1 or context < 0 or batch < 1:
        raise OptionError(
            f"rows, context and batch are {rows}, {context} and {batch}; they are whole numbers: a forward has at "
            "least one row and one sequence, and no fewer than 0 cached tokens. Try rows 1"
        )
    if num_logits is not None and not (is_whole(num_logits) and 0 <= num_logits <= rows):
        raise OptionError(f"the logits are those of {num_logits} rows; the forward has {rows}. Try {rows} or None")
    if not shape.gated and activation not in ACTIVATION_OPERATIONS:
        raise OptionError(
            f"the activation is {quote(activation)}; it must be one of {', '.join(ACTIVATION_OPERATIONS)}. Try gelu_new"
        )
    storage = storage or Storage()
    tokens, width, layers = batch * rows, shape.n_embd, shape.n_layer
    answers = batch * (rows if num_logits is None else num_logits)
    # Token i of m sees context + i + 1 slots, itself included.
    slots = batch * (rows * context + rows * (rows + 1) // 2)
    cached = batch * (context + rows) * shape.kv_width * kv_bytes
    new = tokens * shape.kv_width
    number = ACTIVATION_BYTES

    def norm(name: str, count: int) -> Part:
        parameters = width * number * (2 if shape.biased else 1)
        return Part(
            name,
            flops=NORM_OPERATIONS * count * width,
            weight_bytes=parameters,
            input_bytes=number * count * width,
            output_bytes=number * count * width,
        )

    def linear(name: str, *, residual: bool = False) -> Part:
        inputs, outputs = shape.matrices()[name]
        return count_linear(name, storage, tokens, inputs, outputs, biased=shape.biased, residual=residual)

    row_bytes = width * storage.bytes_per_weight + storage.scale_bytes
    row_bytes += number * width if shape.learned_positions else 0
    embed = Part(
        "embed",
        flops=tokens * width if shape.learned_positions else 0,
        weight_bytes=tokens * row_bytes,
        input_bytes=2 * 8 * tokens,  # token ids and positions
        output_bytes=number * tokens * width,
    )
    scores = Part(
        "attn.scores",
        flops=shape.n_head * slots * (2 * shape.head_size + SCORE_OPERATIONS),
        cache_bytes=cached,
        input_bytes=number * tokens * width,
    )
    values = Part(
        "attn.values",
        flops=2 * width * slots + width * tokens,  # weighted sum, and the division by the sum of the weights
        cache_bytes=cached,
        output_bytes=number * tokens * width,
    )
    store = Part("attn.store", input_bytes=2 * new * number, output_bytes=2 * new * kv_bytes)
    hidden = tokens * shape.n_inner
    per_element = ACTIVATION_OPERATIONS["silu" if shape.gated else activation] + (1 if shape.gated else 0)
    act = Part(
        "mlp.activation",
        flops=per_element * hidden,
        input_bytes=number * hidden * (2 if shape.gated else 1),
        output_bytes=number * hidden,
    )
    layer = (
        norm("ln_1", tokens),
        linear("attn.c_attn"),
        store,
        scores,
        values,
        linear("attn.c_proj", residual=True),
        norm("ln_2", tokens),
        linear("mlp.c_fc"),
        act,
        linear("mlp.c_proj", residual=True),
    )
    head = count_linear("lm_head", storage, answers, width, shape.vocab_size, biased=False, residual=False)
    return (embed, *(part.times(layers) for part in layer), norm("ln_f", answers), head)
