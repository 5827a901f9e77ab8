# %% [markdown]
# # 10 · Kernels: from a naive loop to the memory wall
#
# **Question.** A product of a row with a matrix must read every weight once. How close to that floor does NumPy get, and how
# would you get closer?
#
# You climb a ladder, with Numba. You read memory in the order in which it lies there. You use every weight for all rows while it is at hand.
# And you add up in **one** order, so the bits do not depend on how many rows there are.
#
# About 49 minutes. You need lesson 3. The first run of a compiled function takes seconds: it is being compiled.

# %%
import time
from functools import partial

import numpy as np
from numba import njit

from minispec.course.teaching import begin, time_all
from minispec.engine.backends import get_backend
from minispec.engine.backends.probe import ReadProbe
from minispec.lab.viz.plots.theory import curves_figure, laws_figure

lesson = begin("10")
K, N = 1024, 4096
rng = np.random.default_rng(0)
weight = rng.standard_normal((K, N), np.float32)
x = rng.standard_normal((8, K), np.float32)
lesson

# %%
probe = ReadProbe(weight.nbytes)  # only reads as many bytes, as fast as it can
rows = (1, 2, 4, 8)
runs = {str(m): (lambda m=m: x[:m] @ weight) for m in rows}
times = time_all(runs | {"read": probe}, 7)
reading = 1e3 * times.median("read")
laws_figure(
    {
        "x @ weight in NumPy": np.array([1e3 * times.median(str(m)) for m in rows]),
        "only reading the weights": np.full(4, reading),
    },
    [f"{m} row" + "s" * (m > 1) for m in rows],
    "milliseconds",
)

# %% [markdown]
# **Look.** The second bar is the floor, measured on your machine: 17 MB of weights, read and thrown away. The rest of the first bar is what a
# better program could save.
#
# **If you only have ten minutes:** read 10.0 if Numba is new to you, then predict and run 10.1, and look at the picture of 10.4.
#
# ## 10.0 · Numba in five minutes
#
# *5 minutes · ●○○*
#
# **Why.** A Python loop spends nearly all of its time on being Python: every `+` looks up what it adds, every number is an object.
# *Numba* compiles a function to machine code. With `@njit` before a function, the first call looks at the types of the
# arguments and compiles a version for them. From then on that version runs. Inside you may use loops, numbers, arrays and much
# of NumPy, but no classes of yours and hardly any other library. Loops are no longer slow, and you decide in which order
# things happen.


# %%
def sum_of_squares(values):
    """A plain loop."""
    total = 0.0
    for value in values:
        total += value * value
    return total


compiled = njit(sum_of_squares)
values = rng.standard_normal(200_000)

# %% [markdown]
# **Wrong first.** Time the compiled function, once:

# %%
started = time.perf_counter()
compiled(values)
first = time.perf_counter() - started
started = time.perf_counter()
compiled(values)
second = time.perf_counter() - started
print(f"first call {1e3 * first:.1f} ms, second call {1e3 * second:.3f} ms")
assert first > second

# %% [markdown]
# The first call includes the compiler. People who say "Numba is slow" have often timed it. So `time_all` leaves the first call
# out, and lets the candidates take turns.

# %%
times = time_all(
    {"Python": lambda: sum_of_squares(values), "Numba": lambda: compiled(values)}, 5
)
assert np.isclose(sum_of_squares(values), compiled(values))
times.conclude(
    "the same loop, compiled: "
    f"{times.median('Python') / times.median('Numba'):.0f} times as fast",
    possible=times.median("Numba") < times.median("Python"),
)

# %% [markdown]
# ## 10.1 · The order of two loops
#
# *5 minutes · ●○○*
#
# **Why.** `weight` has shape `[K, N]`; NumPy stores it row by row: `weight[k, 0], weight[k, 1], …` are neighbours. The product
# `y[n] = Σ_k x[k] · weight[k, n]` can be computed with `n` in the outer loop, or with `k`. The same multiplications.
#
# **Predict.** Which is faster: `"n outside"` or `"k outside"`?

# %%
lesson.predict("order", "k outside")


# %%
@njit(cache=True)
def n_outside(x, weight):
    """One output after the other."""
    y = np.zeros(weight.shape[1], np.float32)
    for n in range(weight.shape[1]):
        for k in range(weight.shape[0]):
            y[n] += x[k] * weight[k, n]
    return y


@njit(cache=True)
def k_outside(x, weight):
    """One row of weights after the other, as they lie in memory."""
    y = np.zeros(weight.shape[1], np.float32)
    for k in range(weight.shape[0]):
        for n in range(weight.shape[1]):
            y[n] += x[k] * weight[k, n]
    return y


# %%
times = time_all(
    {
        "n outside": lambda: n_outside(x[0], weight),
        "k outside": lambda: k_outside(x[0], weight),
        "NumPy": lambda: x[0] @ weight,
        "only reading": probe,
    }
)
assert np.array_equal(n_outside(x[0], weight), k_outside(x[0], weight))  # the same bits
assert weight.strides == (16 * 1024, 4)  # bytes to the next row, to the next column
print({name: f"{1e3 * times.median(name):.2f} ms" for name in times.seconds})

# %%
slower = times.median("n outside") / times.median("k outside")
times.conclude(f"n outside takes {slower:.1f} times as long", possible=slower > 1)

# %% [markdown]
# **Look.** A walk down a column jumps 16 kB at each step. The memory delivers cache lines of 64 bytes, and the loop uses 4 of them. Both
# loops give the same bits, because both add over k = 0, 1, 2, …
#
# ## 10.2 · Panels
#
# *12 minutes · ●●●*
#
# **Why.** With `k` outside, the loop loads and stores all of `y` again for every k. Better: cut the columns into *panels* of, say, 32. Keep
# the 32 running sums in registers, and walk down the panel once. The walk is in order only if the panel lies in one piece. So minispec
# repacks the matrix when it loads the model.
#
# ```text
#   weight [K, N], row by row         panels of width 2
#     a b │ c d │ e                     a b     c d     e 0
#     f g │ h i │ j          ──►        f g     h i     j 0
#     k l │ m n │ o                     k l     m n     o 0
#   in memory: a b c d e f g …        in memory: a b f g k l │ c d h i m n │ …
# ```


# %%
def pack(weight: np.ndarray, width: int) -> np.ndarray:
    """Return the panels, shape [ceil(N / width), K, width]: panel i holds columns
    i*width … i*width + width - 1.

    The last panel is filled up with zeros.
    """
    # BEGIN SOLUTION
    num_inputs, num_outputs = weight.shape
    panels = np.zeros((-(-num_outputs // width), num_inputs, width), weight.dtype)
    for i in range(len(panels)):
        columns = weight[:, i * width : (i + 1) * width]
        panels[i, :, : columns.shape[1]] = columns
    return panels
    # END SOLUTION


# %%
lesson.check("pack", pack)

# %%
pack = lesson.working("pack", pack)


# %%
def panel_product(x: np.ndarray, panels: np.ndarray, num_outputs: int) -> np.ndarray:
    """Return x @ weight, shape [M, N], from the panels of `pack`; x has shape [M, K].
    Plain loops over panels and k.

    For each panel keep sums of shape [M, width]; for k = 0, 1, 2, … add the product of
    column k of x with row k of the panel. The check sees numbers, not this order.
    """
    # BEGIN SOLUTION
    num_panels, num_inputs, width = panels.shape
    y = np.empty((len(x), num_panels * width), x.dtype)
    for i in range(num_panels):
        sums = np.zeros((len(x), width), x.dtype)
        for k in range(num_inputs):
            sums = sums + x[:, k : k + 1] * panels[i, k]
        y[:, i * width : (i + 1) * width] = sums
    return y[:, :num_outputs]
    # END SOLUTION


# %%
lesson.check("panel_product", panel_product)

# %% [markdown]
# ## 10.3 · One order, whatever the number of rows
#
# *7 minutes · ●●○*
#
# **Why.** Sums of floating-point numbers depend on their order: $(a + b) + c$ is not $a + (b + c)$. A library picks the order that is
# fastest for the shape at hand: one for a single row, another for six. Then the row that verifies a token and the row that decodes it differ
# in the last bits. Once in a while the greedy *token* differs. This cannot happen if each row is added up in the same order.
#
# **Predict.** In float64, is `(0.1 + 0.2) + 0.3 == 0.1 + (0.2 + 0.3)`? `True` or `False`

# %%
lesson.predict("associative", False)


# %%
def batch_invariant(product, x: np.ndarray) -> bool:
    """Return whether each row of product(x), shape [M, N], has the bits of product(that
    row alone), where a row alone has shape [1, K].

    np.array_equal compares bits well enough here (there are no NaNs).
    """
    # BEGIN SOLUTION
    together = product(x)
    return all(
        np.array_equal(together[i : i + 1], product(x[i : i + 1]))
        for i in range(len(x))
    )
    # END SOLUTION


# %%
lesson.check("batch_invariant", batch_invariant)

# %%
batch_invariant = lesson.working("batch_invariant", batch_invariant)
backends = {name: get_backend(name) for name in ("numpy", "numba", "panel")}
packed = {name: backend.pack(weight, None) for name, backend in backends.items()}
for name, backend in backends.items():
    same = batch_invariant(lambda rows, b=backend, n=name: b.linear(rows, packed[n]), x)
    print(f"{name:6} batch-invariant: {same}, promised: {backend.batch_invariant}")
    assert same or not backend.batch_invariant

# %% [markdown]
# ## 10.4 · The ladder, timed
#
# *4 minutes · ●○○*
#
# minispec's code has three rungs: NumPy (the reference), plain Numba loops, and panels. The panels' inner loop is written in the language of
# the compiler below Numba (LLVM), and keeps the sums in registers. For 1 to 8 rows, in turns:

# %%
rows = [1, 2, 4, 6, 8]
runs = {
    f"{name} {m}": (lambda m=m, b=backend, n=name: b.linear(x[:m], packed[n]))
    for name, backend in backends.items()
    for m in rows
}
times = time_all(runs | {"read": probe}, 7)
curves_figure(
    rows,
    {
        name: [times.median(f"{name} {m}") / times.median("read") for m in rows]
        for name in backends
    },
    "rows at once",
    "time, over that of only reading the weights",
    level=1.0,
)

# %% [markdown]
# **Look.** The dashed line is the wall: reading alone. How close is each rung for one row, and how does it grow?

# %%
one_row = {name: times.median(f"{name} 1") / times.median("read") for name in backends}
times.conclude(
    "one row, over reading alone: "
    + ", ".join(f"{name} {ratio:.2f}" for name, ratio in one_row.items()),
    possible=min(one_row.values()) > 0.8,
)

# %% [markdown]
# ## 10.5 · Fewer bytes
#
# *8 minutes · ●●○*
#
# **Why.** If reading takes the time, read less: store weights in 16 or 8 bits, and still multiply in float32. In int8
# every column gets a scale of its own. With this scale its largest weight becomes 127.


# %%
def quantise(weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return int8 values, shape [K, N], and float32 scales, shape [N]: weight is about
    values * scales.

    scale = largest magnitude of the column / 127; a column of zeros gets scale 1. Round
    to nearest (np.rint).
    """
    # BEGIN SOLUTION
    scale = np.abs(weight).max(axis=0) / 127
    scale = np.where(scale > 0, scale, 1).astype(np.float32)
    return np.rint(weight / scale).astype(np.int8), scale
    # END SOLUTION


# %%
lesson.check("quantise", quantise)

# %%
quantise = lesson.working("quantise", quantise)
values, scale = quantise(weight)
error = np.abs(values * scale - weight)
print(
    f"{weight.nbytes / 1e6:.1f} MB become "
    f"{(values.nbytes + scale.nbytes) / 1e6:.1f} MB; "
    f"largest error {error.max():.4f}, half a step is {scale.max() / 2:.4f}"
)

# %%
panel = backends["panel"]
dtypes = ("float32", "float16", "int8")
small = {dtype: panel.pack(weight, None, dtype) for dtype in dtypes}
times = time_all(
    {
        f"{dtype} {m}": (lambda m=m, d=dtype: panel.linear(x[:m], small[d]))
        for dtype in dtypes
        for m in (1, 4, 8)
    }
)
laws_figure(
    {
        dtype: np.array([1e3 * times.median(f"{dtype} {m}") for m in (1, 4, 8)])
        for dtype in dtypes
    },
    ["1 row", "4 rows", "8 rows"],
    "milliseconds",
)

# %% [markdown]
# **Look.** For one row, fewer bytes take less time if reading takes most of it. With more rows the gain shrinks, because
# the arithmetic takes the time. That is the ridge of lesson 3, moved to the left.

# %%
gains = {m: times.median(f"float32 {m}") / times.median(f"int8 {m}") for m in (1, 8)}
times.conclude(
    f"int8 is {gains[1]:.2f} times as fast as float32 for one row, "
    f"{gains[8]:.2f} times for eight"
)

# %% [markdown]
# ## 10.6 · Play: how wide a panel?
#
# *4 minutes · ●○○*


# %%
@njit(cache=True, fastmath={"contract"})
def product(x, panels):
    """One row through panels of any width."""
    num_panels, num_inputs, width = panels.shape
    y = np.empty(num_panels * width, np.float32)
    for i in range(num_panels):
        sums = np.zeros(width, np.float32)
        for k in range(num_inputs):
            for n in range(width):
                sums[n] += x[k] * panels[i, k, n]
        y[i * width : (i + 1) * width] = sums
    return y


# %%
widths = [8, 16, 32, 64, 128, 256]
times = time_all(
    {str(w): partial(product, x[0], pack(weight, w)) for w in widths} | {"read": probe},
    5,
)
curves_figure(
    widths,
    {"plain Numba": [times.median(str(w)) / times.median("read") for w in widths]},
    "columns per panel",
    "time, over that of only reading",
    level=1.0,
)

# %% [markdown]
# ## 10.7 · One rung more: a card
#
# *4 minutes · ●●○*
#
# **Why.** On a GPU the wall is the same, bytes over bandwidth, but no single loop reaches it. A trip to memory takes some 0.7 µs. To read
# 23 kB per µs, one of an H100's 132 multiprocessors must have 23 · 0.7 = 16 kB on their way *all the time* (Little's law). A layer
# of GPT-2 XL is five steps that wait for one another. If each is a launch of its own, some 2.6 µs pass between two in which nothing is
# on its way. If one launch does all, it can ask for the next step's weights before it may use them.

# %%
megabytes = [
    15.4,
    3.3,
    5.1,
    20.5,
    20.5,
]  # queries, keys and values; attention; projection; up; down
speed, trip, pause = 23.4, 0.7, 2.6  # kB per µs and multiprocessor, µs, µs
wall = sum(megabytes) * 1e3 / 132 / speed


def layer_time(on_their_way, pause):
    """Microseconds of a layer: kB on their way, and a pause after each step."""
    rate = min(speed, on_their_way / trip)
    return sum(size * 1e3 / 132 / rate + pause for size in megabytes)


kilobytes = [4, 8, 12, 16, 24, 32]
curves_figure(
    kilobytes,
    {
        "a launch a step": [wall / layer_time(k, pause) for k in kilobytes],
        "one launch": [wall / layer_time(k, 0.0) for k in kilobytes],
    },
    "kB on their way in a multiprocessor",
    "share of the bandwidth",
    level=1.0,
)

# %% [markdown]
# **Look.** Up to 16 kB more bytes on their way help both. Beyond, only the pauses are left, and no faster kernel takes them away. This is a
# formula, not a measurement: minispec's kernel for cards, `minispec/engine/backends/cuda/`, has not run on one. `docs/gpu-kernel.md` climbs it file by file.

# %% [markdown]
# ## What you can do now
#
# You can say why one loop order is faster than the other, pack a matrix for it, and test whether a product depends on
# the number of rows. And you know the number to compare with: the time of reading alone.
#
# In the code base: `minispec/engine/backends/base.py`, `_kernels.py` and `panel/tile.py` are the three rungs on a CPU. Each is tested against the one
# before.

# %% [markdown]
# ## References
#
# - Lam, Pitrou and Seibert, *Numba: A LLVM-based Python JIT Compiler*, LLVM-HPC 2015.
# - Goto and van de Geijn, *Anatomy of High-Performance Matrix Multiplication*, ACM Transactions on Mathematical Software, 2008: panels.
# - Goldberg, *What Every Computer Scientist Should Know About Floating-Point Arithmetic*, ACM Computing Surveys, 1991.
# - Dettmers et al., *LLM.int8(): 8-bit Matrix Multiplication for Transformers at Scale*, NeurIPS 2022 (arXiv 2208.07339): a scale for each column.

# %%
lesson.progress()
