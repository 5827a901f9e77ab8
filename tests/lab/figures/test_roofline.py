"""The counts: equal to what a counting backend adds up, to a brute-force count, and to the laws they must obey."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minispec.engine.backends import BACKENDS, get_backend
from minispec.engine.backends.base import Backend
from minispec.engine.model import GPT2Config
from minispec.engine.model.forward import forward
from minispec.engine.model.paged import PagedCache
from minispec.engine.model.pages import PagePool
from minispec.engine.model.together import JoinedCaches, join
from minispec.engine.model.weights import num_parameters
from minispec.errors import InvariantError, OptionError
from minispec.lab.roofline import counts as conventions
from minispec.lab.roofline.counter import PassingBackend, part_names, storage_of
from minispec.lab.roofline.counts import Part, Storage, count_forward, total
from minispec.lab.roofline.forwards import count_model
from minispec.lab.roofline.shapes import SHAPES, Shape, get_shape, to_config
from tests.lab.figures.counting import CountingBackend, CountingCache
from tests.models import random_gpt2

TINY = {"vocab_size": 97, "n_positions": 64, "n_embd": 24, "n_layer": 2, "n_head": 3, "n_inner": 40}


def tiny(**changed) -> Shape:
    return Shape.from_config(GPT2Config.from_dict(TINY | changed), "tiny")


shapes = st.builds(
    lambda heads, size, layers, inner, vocab, tied: Shape(
        "s", vocab, 64, heads * size, layers, heads, inner, heads, tied=tied
    ),
    st.integers(1, 4),
    st.integers(1, 6),
    st.integers(1, 3),
    st.integers(1, 30),
    st.integers(2, 50),
    st.booleans(),
)
counts = st.tuples(shapes, st.integers(1, 6), st.integers(0, 9), st.integers(1, 3))


# What really happens


def counted(
    backend: str, rows_per_row: tuple[int, ...], context: int, num_logits=None, dtype="float32", kv_dtype="float32",
    **fields,
):  # fmt: skip
    """Run a forward through a counting backend, after ``context`` tokens in every row of the cache."""
    model = random_gpt2(backend, kv_dtype=kv_dtype, **TINY | fields)
    if dtype != "float32":
        from minispec.engine.model.quantize import round_model

        model = round_model(model, dtype)
    counter = CountingBackend(model.backend, part_names(model.weights))
    config = model.config
    pool = PagePool(config.n_layer, config.n_head, config.head_size, len(rows_per_row), config.n_positions,
                    backend=model.backend, kv_dtype=kv_dtype)  # fmt: skip
    caches = [CountingPages(pool, config.n_positions) for _ in rows_per_row]
    for cache in caches:
        cache.counter = counter

    def feed(counts: tuple[int, ...], num_logits=None):
        feeds = [cache.feed([(7 * i) % config.vocab_size for i in range(count)], num_logits=num_logits)
                 for cache, count in zip(caches, counts, strict=True)]  # fmt: skip
        return forward(model.weights, config, counter, join(feeds), JoinedCaches(caches, feeds))

    if context:
        feed((context,) * len(rows_per_row))
    counter.counts.clear()
    logits = feed(rows_per_row, num_logits)
    return model, counter.counts, logits


class CountingPages(CountingCache, PagedCache):
    """The cache of one text of several in one memory."""


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("rows", "context", "batch"), [(1, 0, 1), (1, 17, 1), (5, 17, 1), (3, 4, 2), (20, 0, 1)])
def test_counts_equal_what_a_backend_does(backend: str, rows: int, context: int, batch: int) -> None:
    model, counts, _ = counted(backend, (rows,) * batch, context)
    expected = count_forward(
        tiny(), rows, context, batch=batch, storage=storage_of(model.backend), activation="gelu_new"
    )
    assert {part.name: part for part in expected} == counts


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int8"])
def test_counts_in_every_format(backend: str, dtype: str) -> None:
    model, counts, _ = counted(backend, (3,), 5, num_logits=1, dtype=dtype, activation_function="relu")
    storage = storage_of(model.backend, dtype)
    expected = count_forward(tiny(), 3, 5, storage=storage, activation="relu", num_logits=1)
    assert {part.name: part for part in expected} == counts


@pytest.mark.parametrize("backend", BACKENDS)
def test_counts_of_a_cache_in_half_the_bytes(backend: str) -> None:
    model, counts, _ = counted(backend, (3, 3), 5, kv_dtype="float16")
    options = {"batch": 2, "storage": storage_of(model.backend), "activation": "gelu_new"}
    found = {part.name: part for part in count_forward(tiny(), 3, 5, kv_bytes=2, **options)}
    assert found == counts
    whole = total(count_forward(tiny(), 3, 5, **options))
    assert total(found.values()).cache_bytes * 2 == whole.cache_bytes > 0


def test_the_parts_of_a_model_are_those_of_its_formats() -> None:
    model = random_gpt2("numba", dtype="float16", kv_dtype="float16", **TINY)
    storage = storage_of(model.backend, "float16")
    assert count_model(model, 3, 5) == count_forward(tiny(), 3, 5, storage=storage, activation="gelu_new", kv_bytes=2)


def test_an_untied_head_and_exact_gelu() -> None:
    _, counts, _ = counted("numpy", (2,), 3, tie_word_embeddings=False, activation_function="gelu")
    storage = Storage(always_biased=True)
    expected = count_forward(tiny(tie_word_embeddings=False), 2, 3, storage=storage, activation="gelu")
    assert {part.name: part for part in expected} == counts


def test_counting_changes_no_bit() -> None:
    model, _, logits = counted("numba", (4,), 0)
    assert logits.tobytes() == model.forward([(7 * i) % 97 for i in range(4)], model.new_cache()).tobytes()


def test_every_operation_of_a_backend_is_counted_or_named_here() -> None:
    operations = {name for name, thing in vars(Backend).items() if callable(thing) and not name.startswith("_")}
    made_of_these = {"project"}  # inherited: its reference body calls the counted operations and the cache
    in_one_call = {"fuses", "layers"}  # inherited, and never so: then the forward calls the counted operations
    memory = {
        "place",
        "fetch",
        "zeros",
        "move",
        "free_bytes",
        "without",
        "gather",
        "from_host",
        "keep",
    }  # where arrays live, nothing computed
    assert operations <= set(vars(CountingBackend)) | set(vars(PassingBackend)) | made_of_these | in_one_call | memory
    assert not CountingBackend(get_backend("panel"), {}).fuses(random_gpt2("panel").weights.h)
    assert {"embed", "linear", "matmul", "layer_norm", "activation", "attention"} <= set(vars(CountingBackend))


def test_a_call_about_an_unknown_matrix_is_refused() -> None:
    backend = get_backend("numpy")
    matrix = backend.pack(np.ones((2, 2), np.float32), None)
    with pytest.raises(InvariantError, match="no part of the model"):
        CountingBackend(backend, {}).linear(np.ones((1, 2), np.float32), matrix)


@pytest.mark.parametrize(
    ("what", "wrong"),
    [
        ("padding forgotten", {"storage": Storage(panel=1, always_biased=True)}),
        ("the head's zero bias forgotten", {"storage": Storage(panel=64)}),
        ("one slot too few", {"context": 16}),
        ("one row too many", {"rows": 6}),
        ("logits of the last row only", {"num_logits": 1}),
        ("another activation", {"activation": "relu"}),
    ],
)
def test_a_wrong_count_is_noticed(what: str, wrong: dict) -> None:
    _, counts, _ = counted("numba", (5,), 17)
    right = {"rows": 5, "context": 17, "storage": Storage(panel=64, always_biased=True)}
    assert {part.name: part for part in count_forward(tiny(), **right)} == counts
    assert {part.name: part for part in count_forward(tiny(), **right | wrong)} != counts, what


# Brute force: loops over everything, adding one at a time


def brute_force(shape: Shape, rows: int, context: int, batch: int) -> tuple[int, int]:
    """Count the multiplications and additions of all matrices and of the attention, and the weights they read."""
    operations, weights = 0, 0
    matrices = [*list(shape.matrices().values()) * shape.n_layer, (shape.n_embd, shape.vocab_size)]
    for inputs, outputs in matrices:
        for _ in range(inputs):
            weights += outputs
        for _ in range(batch * rows):
            operations += sum(2 for _ in range(outputs) for _ in range(inputs))
    for _ in range(shape.n_layer * batch):
        for row in range(rows):
            for _ in range(context + row + 1):
                operations += sum(2 + 2 for _ in range(shape.n_head) for _ in range(shape.head_size))
    return operations, weights


@given(counts)
@settings(max_examples=40)
def test_equal_to_a_brute_force_count(case: tuple[Shape, int, int, int]) -> None:
    shape, rows, context, batch = case
    parts = {part.name: part for part in count_forward(shape, rows, context, batch=batch)}
    additions = shape.n_layer * batch * rows * (2 * shape.n_embd * 2 + 3 * shape.n_embd + shape.n_inner)
    matrices = [parts[name] for name in (*shape.matrices(), "lm_head")]
    slots = shape.n_layer * batch * sum(context + row + 1 for row in range(rows))
    softmax = slots * shape.n_head * conventions.SCORE_OPERATIONS + shape.n_layer * batch * rows * shape.n_embd
    attention = parts["attn.scores"].flops + parts["attn.values"].flops
    operations, weights = brute_force(shape, rows, context, batch)
    assert sum(part.flops for part in matrices) + attention - additions - softmax == operations
    biases = shape.n_layer * (5 * shape.n_embd + shape.n_inner)
    assert sum(part.weight_bytes for part in matrices) == 4 * (weights + biases)


# Laws


def forward_total(shape: Shape, rows: int, context: int, batch: int = 1, **kwargs) -> Part:
    return total(count_forward(shape, rows, context, batch=batch, **kwargs))


@given(counts)
def test_layers_add_up(case: tuple[Shape, int, int, int]) -> None:
    shape, rows, context, batch = case
    one, two, three = (
        forward_total(dataclasses.replace(shape, n_layer=layers), rows, context, batch) for layers in (1, 2, 3)
    )
    for field in ("flops", "weight_bytes", "cache_bytes", "input_bytes", "output_bytes"):
        assert getattr(three, field) - getattr(two, field) == getattr(two, field) - getattr(one, field) > 0


@given(counts)
def test_operations_of_rows_add_up_and_weights_do_not(case: tuple[Shape, int, int, int]) -> None:
    """m rows at once are the operations of m rows one by one, each one token further on; the matrices once."""
    shape, rows, context, batch = case
    together = count_forward(shape, rows, context, batch=batch)
    alone = [count_forward(shape, 1, context + row, batch=batch) for row in range(rows)]
    assert total(together).flops == sum(total(parts).flops for parts in alone)
    for i, part in enumerate(together):
        if part.name != "embed":  # which reads a row of a table for each token
            assert {parts[i].weight_bytes for parts in alone} == {part.weight_bytes}


@given(counts)
def test_sequences_of_a_batch_add_up_except_for_the_weights(case: tuple[Shape, int, int, int]) -> None:
    shape, rows, context, batch = case
    one, many = forward_total(shape, rows, context), forward_total(shape, rows, context, batch)
    assert (many.flops, many.cache_bytes) == (batch * one.flops, batch * one.cache_bytes)
    assert many.local_bytes == batch * one.local_bytes
    matrices = [part for part in count_forward(shape, rows, context, batch=batch) if part.name != "embed"]
    assert sum(part.weight_bytes for part in matrices) == sum(
        part.weight_bytes for part in count_forward(shape, rows, context) if part.name != "embed"
    )


@given(counts)
def test_more_of_anything_costs_more(case: tuple[Shape, int, int, int]) -> None:
    shape, rows, context, batch = case
    here = forward_total(shape, rows, context, batch)
    for more in (
        forward_total(shape, rows + 1, context, batch),
        forward_total(shape, rows, context + 1, batch),
        forward_total(shape, rows, context, batch + 1),
        forward_total(dataclasses.replace(shape, n_inner=shape.n_inner + 1), rows, context, batch),
        forward_total(dataclasses.replace(shape, vocab_size=shape.vocab_size + 1), rows, context, batch),
    ):
        assert more.flops > here.flops
        assert more.total_bytes > here.total_bytes
        assert more.streamed_bytes >= here.streamed_bytes


@given(counts, st.integers(2, 64))
def test_padding_is_bytes_and_no_operations(case, panel: int) -> None:
    shape, rows, context, batch = case
    bare = forward_total(shape, rows, context, batch)
    padded = forward_total(shape, rows, context, batch, storage=Storage("float32", panel))
    assert padded.flops == bare.flops
    assert padded.weight_bytes - bare.weight_bytes == padded.padding_bytes >= 0
    whole = dataclasses.replace(shape, vocab_size=3 * panel)
    head = count_forward(whole, rows, context, storage=Storage("float32", panel))[-1]
    assert head.padding_bytes == 0


# Known shapes


@pytest.mark.parametrize(
    ("name", "millions"),
    [
        ("distilgpt2", 81.9), ("gpt2", 124.4), ("gpt2-medium", 354.8), ("gpt2-large", 774.0), ("gpt2-xl", 1557.6),
        ("1b", 1100.0), ("7b", 6738.4), ("13b", 13015.9), ("70b", 68976.6), ("llama3-8b", 8030.3),
        ("llama3-70b", 70553.7), ("llama3-405b", 405853.4),
    ],
)  # fmt: skip
def test_known_shapes_have_their_published_number_of_parameters(name: str, millions: float) -> None:
    assert SHAPES[name].num_parameters / 1e6 == pytest.approx(millions, abs=0.06)


def test_parameters_of_a_gpt2_shape_are_those_of_its_config() -> None:
    config = to_config(get_shape("gpt2"))
    assert num_parameters(config) == get_shape("gpt2").num_parameters
    assert Shape.from_config(config, "gpt2").matrices() == get_shape("gpt2").matrices()


@pytest.mark.parametrize("name", SHAPES)
def test_a_step_reads_every_weight_but_the_tables_and_twice_as_many_operations(name: str) -> None:
    """With an empty context: 4 (parameters - tables) bytes and 2 (parameters - tables) operations, nearly."""
    shape = SHAPES[name]
    read = shape.num_parameters
    if not shape.tied:
        read -= shape.vocab_size * shape.n_embd
    if shape.learned_positions:
        read -= shape.n_positions * shape.n_embd
    step = forward_total(shape, 1, 0)
    assert step.weight_bytes == pytest.approx(4 * read, rel=2e-4)  # the rows of the tables that one token needs
    assert step.flops == pytest.approx(2 * read, rel=0.01)


def test_grouped_heads_cache_less_and_compute_the_same() -> None:
    shape = get_shape("70b")
    plain = dataclasses.replace(shape, n_kv_head=shape.n_head)
    grouped, whole = (count_forward(s, 1, 1000) for s in (shape, plain))
    for name, i in (("attn.scores", 4), ("attn.values", 5)):
        assert grouped[i].name == name
        assert grouped[i].flops == whole[i].flops
        assert 8 * grouped[i].cache_bytes == whole[i].cache_bytes


def test_bad_input() -> None:
    with pytest.raises(OptionError, match="Did you mean 'gpt2-medium'"):
        get_shape("gpt2-medum")
    with pytest.raises(OptionError, match="--machine h100 --shape 70b"):
        to_config(get_shape("70b"))
    with pytest.raises(OptionError, match="float32, float16, bfloat16, int8"):
        Storage("int3")
    for wrong in ((0, 1, 1), (1, -1, 1), (1, 1, 0)):
        with pytest.raises(OptionError, match="at least one row"):
            count_forward(tiny(), wrong[0], wrong[1], batch=wrong[2])
    with pytest.raises(OptionError, match="whole numbers"):
        count_forward(tiny(), 1.5, 0)
    for logits in (-1, 3):
        with pytest.raises(OptionError, match=f"the logits are those of {logits} rows; the forward has 2"):
            count_forward(tiny(), 2, 0, num_logits=logits)
    with pytest.raises(OptionError, match="the activation is 'swish'; it must be one of gelu_new"):
        count_forward(tiny(), 1, 0, activation="swish")
