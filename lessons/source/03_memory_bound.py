# %% [markdown]
# # 3 · Why decoding is memory-bound
#
# **Why does checking six tokens cost about as much as making one?**
#
# Because a processor that makes one token spends nearly all of its time *waiting for the weights*. In this lesson you count
# bytes and operations, measure what this machine can do, and put your own point under its roof.
#
# About 30 minutes. You need lessons 1 and 2. Close other programs: you will measure this machine.
#
# **If you only have ten minutes:** do 3.1, run 3.3 and answer the question of 3.4. All the rest follows from it.

# %%
import time

import numpy as np

import minispec
from minispec.course.teaching import Times, begin, explore
from minispec.engine.backends.probe import ReadProbe
from minispec.lab.timer import interleave
from minispec.lab.viz.plots import style
from minispec.lab.viz.plots.roofline import draw_roof
from minispec.lab.viz.plots.theory import curves_figure

lesson = begin("03")
target = minispec.load_model("target-17m")
target.backend.warm_up()
lesson


# %%
tokens_in_one_pass = [1, 2, 3, 4, 5, 6]
curves_figure(
    tokens_in_one_pass,
    {
        "arithmetic": tokens_in_one_pass,
        "weights to read": [1] * 6,
    },
    "tokens in one pass",
    "compared with one token",
)

# %% [markdown]
# **Look.** Six tokens need six times the arithmetic, but the model's weights are read once for all of them. Which of the two
# decides how long a pass takes?

# %% [markdown]
# ## 3.1 · Count
#
# *7 minutes · ●○○*
#
# **Why.** A pass over `m` tokens has `m` *rows*. Multiplying them with a weight matrix of `K × N` numbers takes one multiplication
# and one addition for each row and each weight: `2 m K N` operations. And it has to read the `K N` weights, once, whatever `m` is.
#
# **Predict.** One row, float32 weights of 4 bytes: how many operations per byte of weights?

# %%
lesson.predict("one_row", 0.5)


# %%
def intensity(rows: int, bytes_per_weight: float) -> float:
    """Return operations per byte of weights, for a pass over that many rows.

    Leave out everything that is small: activations, norms, the cache.

    Example: intensity(1, 4) is 0.5
    """
    # BEGIN SOLUTION
    return 2 * rows / bytes_per_weight
    # END SOLUTION


# %%
lesson.check("intensity", intensity)

# %%
intensity = lesson.working("intensity", intensity)

# %% [markdown]
# Now a whole model. Each layer has four matrices: `c_attn` (C × 3C), `c_proj` (C × C), `c_fc` (C × I) and a second `c_proj` (I × C),
# where I is the inner width. At the end comes the head (C × V).


# %%
def weights_read(n_layer: int, n_embd: int, n_inner: int, vocab_size: int) -> int:
    """Return how many weights the matrices of one pass hold (no biases, norms or
    positions).
    """
    # BEGIN SOLUTION
    layer = n_embd * 3 * n_embd + n_embd * n_embd + 2 * n_embd * n_inner
    return n_layer * layer + n_embd * vocab_size
    # END SOLUTION


# %%
lesson.check("weights_read", weights_read)

# %%
weights_read = lesson.working("weights_read", weights_read)
config = target.config
num_weights = weights_read(
    config.n_layer, config.n_embd, config.n_inner, config.vocab_size
)
print(
    f"{num_weights / 1e6:.1f}M weights, {4 * num_weights / 1e6:.0f} MB in float32, "
    f"{2 * num_weights / 1e6:.0f} million operations for one row"
)

# %% [markdown]
# ## 3.2 · Measure the machine
#
# *8 minutes · ●●○*
#
# The machine has two limits: how many bytes it can read per second, and how many operations it can do per second. The read speed
# depends on how much you read, because a small block fits into the processor's cache. So we read a block as large as the model.
#
# `ReadProbe(n)` is a block of `n` bytes; calling it reads the block and returns the seconds. `interleave` calls several such
# functions in turns, 15 times here, so that each gets its share of a bad moment. Then we compare medians.

# %%
probe = ReadProbe(4 * num_weights)
square = np.ones((1024, 1024), np.float32)


def matmul_seconds() -> float:
    started = time.perf_counter()
    square @ square
    return time.perf_counter() - started


matmul_seconds()
limits = Times(interleave({"read": probe, "multiply": matmul_seconds}, 15))
bandwidth = probe.num_bytes / limits.median("read")
peak = 2 * 1024**3 / limits.median("multiply")
print(
    f"{bandwidth / 1e9:.0f} GB/s read, {peak / 1e9:.0f} billion operations per second"
)


# %%
def floor_seconds(
    num_weights: int, rows: int, bytes_per_weight: float, bandwidth: float, peak: float
) -> float:
    """Return the least time of a pass: reading and computing overlap, so the slower
    of the two decides.

    bandwidth: bytes per second; peak: operations per second
    """
    # BEGIN SOLUTION
    reading = num_weights * bytes_per_weight / bandwidth
    computing = 2 * rows * num_weights / peak
    return max(reading, computing)
    # END SOLUTION


# %%
lesson.check("floor_seconds", floor_seconds)

# %%
floor_seconds = lesson.working("floor_seconds", floor_seconds)


# %%
def ridge_rows(bytes_per_weight: float, bandwidth: float, peak: float) -> float:
    """Return the number of rows at which reading and computing take equally long."""
    # BEGIN SOLUTION
    return bytes_per_weight * peak / (2 * bandwidth)
    # END SOLUTION


# %%
lesson.check("ridge_rows", ridge_rows)

# %%
ridge_rows = lesson.working("ridge_rows", ridge_rows)
ridges = {bits: ridge_rows(bits / 8, bandwidth, peak) for bits in (32, 8)}
assert ridges[8] < ridges[32]
limits.conclude(
    f"on this machine: {ridges[32]:.1f} rows in float32, {ridges[8]:.1f} in int8"
)

# %% [markdown]
# **Look.** Up to this number, the *ridge*, further rows are nearly free: the weights have to be read anyway. Smaller weights have
# their ridge at fewer rows. So quantisation and speculation compete for the same spare time.
#
# ## 3.3 · Your point under the roof
#
# *5 minutes · ●○○*
#
# **Wrong first.** A first try: time each number of rows once, one after the other. The session holds 128 tokens; each timing adds
# some and goes back.

# %%
session = target.session()
session.score(list(range(1, 129)))


def forward_seconds(rows: int) -> float:
    started = time.perf_counter()
    session.score(list(range(1, rows + 1)))
    seconds = time.perf_counter() - started
    session.rollback(128)
    return seconds


row_counts = [1, 2, 3, 4, 6, 8, 12, 16]
for rows in row_counts[:4]:
    print(f"{rows} rows: {1e3 * forward_seconds(rows):.2f} ms")

# %% [markdown]
# Run that cell twice and compare. Single times vary a lot: other programs run, the processor changes its clock, memory is touched
# for the first time. So we time all candidates in turns again, several times, and compare medians. The probe that only reads is one of them.

# %%
runs = {str(rows): (lambda rows=rows: forward_seconds(rows)) for rows in row_counts} | {
    "read": probe
}
interleave(runs, 1)
times = Times(interleave(runs, 9))
seconds = {rows: times.median(str(rows)) for rows in row_counts}
read_s = times.median("read")


@style.apply
def roof():
    """Draw both ceilings, and a point per number of rows."""
    figure, axes = style.new_figure(7.2, 4.4)
    points = {
        f"{rows}": (intensity(rows, 4), 2 * rows * num_weights / seconds[rows])
        for rows in row_counts
    }
    draw_roof(axes, {f"{bandwidth / 1e9:.0f} GB/s": bandwidth}, peak, points)
    return figure


roof()

# %% [markdown]
# **Look.** Each point is a pass; the number says how many rows. Under the slope the machine waits for memory; under the flat
# part it computes. Plain decoding, one row, is at the far left.
#
# ## 3.4 · v(m): what verifying costs
#
# *6 minutes · ●●○*
#
# **Predict.** A pass over 4 rows: will it take closer to 1 times or closer to 4 times as long as one row? Type 1 or 4.

# %%
lesson.predict("four_rows", 1)

# %%
floors = {
    rows: floor_seconds(num_weights, rows, 4, probe.num_bytes / read_s, peak)
    for rows in row_counts
}
curves_figure(
    row_counts,
    {
        "measured": [seconds[rows] / seconds[1] for rows in row_counts],
        "the floor": [floors[rows] / seconds[1] for rows in row_counts],
        "if each row cost as much as the first": [float(rows) for rows in row_counts],
    },
    "rows in one pass",
    "time / time of one row",
)

# %% [markdown]
# All three curves are divided by the same time, that of one measured row, so the floor must lie below the measured curve. If
# it does not, something else used the machine.

# %%
times.conclude(
    f"four rows take {seconds[4] / seconds[1]:.2f} times as long as one, not 4 times; "
    f"reading the weights is {read_s / seconds[1]:.0%} of one row",
    possible=all(floors[rows] <= 1.1 * seconds[rows] for rows in row_counts)
    and seconds[4] < 4 * seconds[1],
)

# %% [markdown]
# ## 3.5 · What if?
#
# *4 minutes · ●○○*
#
# The same formula for other machines. A laptop reads perhaps 100 GB/s, a large server GPU 3,350 GB/s.


# %%
def tokens_per_second(billions: float):
    """Draw how many tokens per second a model of that size can decode at most."""
    speeds = [50, 100, 200, 400, 800, 1600, 3350]
    return curves_figure(
        speeds,
        {
            name: [speed / (billions * size) for speed in speeds]
            for name, size in (("16 bit", 2), ("8 bit", 1), ("4 bit", 0.5))
        },
        f"GB/s, for a model of {billions:g} billion weights",
        "tokens per second, at most",
    )


explore(tokens_per_second, billions=[0.124, 1.5, 7, 70])

# %% [markdown]
# ## What you can do now
#
# - Count the bytes and operations of a pass, and say which of the two limits its speed.
# - Measure this machine's read speed without being fooled by one bad moment.
# - Say why verifying several tokens costs little more than one, and when that ends.
#
# In the code base: `minispec/lab/roofline/counts.py` counts every part exactly, and `minispec roofline` is this lesson as a command.

# %% [markdown]
# ## References
#
# - Williams, Waterman and Patterson, *Roofline: An Insightful Visual Performance Model for Multicore Architectures*, Communications of the ACM, 2009.
# - Shazeer, *Fast Transformer Decoding: One Write-Head is All You Need*, 2019 (arXiv 1911.02150).
# - Leviathan, Kalman and Matias, *Fast Inference from Transformers via Speculative Decoding*, ICML 2023 (arXiv 2211.17192): section 1 says why spare arithmetic is there.

# %%
lesson.progress()
