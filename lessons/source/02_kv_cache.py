# %% [markdown]
# # 2 · The KV cache, and going back
#
# Each new token attends to all earlier ones. Without a memory, a model would read the whole text again for every token. The
# memory is called the *KV cache*. Speculative decoding asks one more thing of it: it must be able to **go back**, because
# drafted tokens that are rejected have already been written into it.
#
# About 30 minutes. You need lesson 1.

# %% [markdown]
# **If you only have ten minutes:** do 2.2 (who sees whom) and run the cells of 2.4: going back is what speculation asks of a cache.

# %%
import numpy as np

import minispec
from minispec.teaching import begin, explore, timed
from minispec.viz.plots.attention import attention_figure
from minispec.viz.plots.curves import curves_figure
from minispec.viz.plots.slots import slots_figure

lesson = begin("02")
lesson

# %% [markdown]
# ## 2.1 · Why
#
# *3 minutes · ●○○*
#
# Generating `n` tokens one by one without a memory means a forward over 1 token, then over 2, then over 3, …
#
# **Predict.** How many tokens go through the model in all for `n = 100`?

# %%
lesson.predict("without", 5050)

# %%
model = minispec.load_model("draft-1.6m")
model.backend.warm_up()
text = list(range(100, 164))


def without_cache(n: int) -> np.ndarray:
    """Get n rows of logits, reading everything again each time; return the last."""
    for i in range(n):
        row = model.forward(text[: i + 1], model.new_cache(), num_logits=1)
    return row


def with_cache(n: int) -> np.ndarray:
    """Get the same rows, feeding each token once."""
    cache = model.new_cache()
    for i in range(n):
        row = model.forward(text[i : i + 1], cache, num_logits=1)
    return row


lengths = [1, 8, 16, 32, 48, 64]
ways = {"without a cache": without_cache, "with one": with_cache}
times = timed(
    {
        f"{name} {n}": (lambda way=way, n=n: way(n))
        for name, way in ways.items()
        for n in lengths
    },
    rounds=5,
)
assert np.allclose(without_cache(64), with_cache(64), atol=1e-4)
curves_figure(
    lengths,
    {name: [1e3 * times.median(f"{name} {n}") for n in lengths] for name in ways},
    "tokens generated",
    "milliseconds in all",
)

# %%
bend, straight = (
    times.median(f"{name} 64") / times.median(f"{name} 32") for name in ways
)
times.conclude(
    f"twice as many tokens: {bend:.1f} times the time without a cache, "
    f"{straight:.1f} times with one",
    possible=times.median("without a cache 64") > times.median("with one 64"),
)

# %% [markdown]
# **Look.** One curve is straight, the other bends: the work without a cache grows with the square of the length. The rows of
# logits are the same: the cell above has compared them.
#
# ## 2.2 · Attention with a memory
#
# *6 minutes · ●●○*
#
# **Why.** The keys and values of earlier tokens never change: token `s` was computed from tokens `0..s` only. So they are kept,
# and a forward over `m` new tokens computes queries, keys and values for these only. With `S` entries in the memory, the new
# ones included, new token `i` (0, …, m − 1) stands at place `S − m + i` and sees the places `0 … S − m + i`.


# %%
def visible(num_new: int, num_slots: int) -> np.ndarray:
    """Return which slots each new token sees: bool, shape [num_new, num_slots]; the new
    tokens are the last slots.

    Example: visible(2, 3) is [[True, True, False], [True, True, True]]
    """
    # BEGIN SOLUTION
    own = num_slots - num_new + np.arange(num_new)[:, None]
    return np.arange(num_slots)[None, :] <= own
    # END SOLUTION


# %%
lesson.check("visible", visible)

# %%
visible = lesson.working("visible", visible)


def picture(num_new: int):
    """Draw the mask of some new tokens after five old ones."""
    slots = 5 + num_new
    mask = np.zeros((slots, slots))
    mask[5:] = visible(num_new, slots)
    return attention_figure(
        mask, [f"old {i}" for i in range(5)] + [f"new {i}" for i in range(num_new)]
    )


explore(picture, num_new=[1, 2, 4, 6])

# %% [markdown]
# ## 2.3 · A cache in your own forward
#
# *6 minutes · ●●○*
#
# **Why.** Here is attention with a memory, with your mask in it: `remember` writes the new keys and values behind the old
# ones, `attend` lets only the new tokens ask. Eight tokens in blocks of 5, 1 and 2 must give the rows that all eight at once
# give: the memory saves work and changes nothing.

# %%
rng = np.random.default_rng(0)
queries, keys, values = rng.standard_normal((3, 8, 4))


class Memory:
    """Keys and values of one head, and how many of them count."""

    def __init__(self, room: int, size: int) -> None:
        self.keys, self.values = np.zeros((2, room, size))
        self.length = 0

    def remember(self, keys: np.ndarray, values: np.ndarray) -> None:
        """Write at the next free slots."""
        new = slice(self.length, self.length + len(keys))
        self.keys[new], self.values[new] = keys, values
        self.length += len(keys)

    def attend(self, queries: np.ndarray) -> np.ndarray:
        """Let the newest tokens look at everything up to themselves."""
        scores = queries @ self.keys[: self.length].T / np.sqrt(queries.shape[1])
        scores = np.where(visible(len(queries), self.length), scores, -np.inf)
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        weights /= weights.sum(axis=1, keepdims=True)
        return weights @ self.values[: self.length]


memory, whole = Memory(16, 4), Memory(16, 4)
rows = []
for block in (slice(0, 5), slice(5, 6), slice(6, 8)):
    memory.remember(keys[block], values[block])
    rows.append(memory.attend(queries[block]))
whole.remember(keys, values)
same = np.allclose(np.concatenate(rows), whole.attend(queries))
print("in blocks of 5, 1 and 2 the same rows as all at once:", same)
assert same

# %% [markdown]
# ## 2.4 · Going back is setting a length
#
# *6 minutes · ●●○*
#
# **Why.** The memory is allocated once, with room for the whole context, and a *length* says how much of it counts. To forget
# the last tokens, set the length back. Nothing is erased: what lies beyond the length is never read, and the next tokens write
# over it. `rollback(n)` means "keep the first n", not "drop n": said twice, it does the same.
#
# **Write** what such a memory holds after some operations. `slots` stands in for keys and values: it stores token ids.


# %%
def after(operations: list[tuple[str, object]]) -> list[int]:
    """Return the tokens that count after all operations, in order.

    operations: ("store", [token, ...]) writes at the next free slots; ("rollback", n)
        keeps at most the first n
    Use a fixed array and a length; going back must not erase.

    Example: after([("store", [5, 6, 7]), ("rollback", 1), ("store", [8])]) is [5, 8]
    """
    slots, length = np.full(64, -1), 0
    # BEGIN SOLUTION
    for name, argument in operations:
        if name == "store":
            slots[length : length + len(argument)] = argument
            length += len(argument)
        else:
            length = min(length, argument)
    return slots[:length].tolist()
    # END SOLUTION


# %%
lesson.check("after", after)

# %%
lesson.hint("after")

# %% [markdown]
# Drawn: blue counts, grey is still there and never read, and the red line is the length.

# %%
slots_figure(
    [
        ("store Once upon a", ["Once", "upon", "a"], 3),
        ("store a draft of 3", ["Once", "upon", "a", "hill", "in", "May"], 6),
        ("rollback(4)", ["Once", "upon", "a", "hill", "in", "May"], 4),
        ("store there", ["Once", "upon", "a", "hill", "there", "May"], 5),
    ]
)

# %% [markdown]
# **Wrong first.** The real thing: a *session* is a model, a cache and the tokens that are in it. What if nobody goes back
# after a rejected draft?

# %%
session = model.session()
session.score([1, 2, 3])
right = session.score([4])[-1]
session.rollback(3)
session.score([50, 60, 70])  # a draft, say; all of it is rejected
wrong = session.score([4])[-1]
print("in the cache:", session.tokens)
print("the same logits:", np.array_equal(right, wrong))
assert not np.array_equal(right, wrong)

# %% [markdown]
# The model goes on from a text that nobody has written. Mended:

# %%
session.rollback(3)
again = session.score([4])[-1]
print("in the cache:", session.tokens)
print("the same bits:", np.array_equal(right, again))
assert np.array_equal(right, again)

# %% [markdown]
# ## 2.5 · What it costs
#
# *4 minutes · ●○○*
#
# **Why.** Per token the cache holds a key and a value of width `C` for each of the `L` layers. That is memory, and every
# forward reads all of it.
#
# **Predict.** The bundled target has 8 layers of width 384 and stores float32 (4 bytes). How many bytes does *one* token take?

# %%
lesson.predict("per_token", 24576)


# %%
def cache_bytes(
    n_layer: int, n_embd: int, num_tokens: int, bytes_per_number: int = 4
) -> int:
    """Return the size of the keys and values of num_tokens tokens, in bytes."""
    # BEGIN SOLUTION
    return 2 * n_layer * n_embd * num_tokens * bytes_per_number
    # END SOLUTION


# %%
lesson.check("cache_bytes", cache_bytes)

# %%
cache_bytes = lesson.working("cache_bytes", cache_bytes)
target = minispec.load_model("target-17m")
cache = target.new_cache()
config = target.config
computed = cache_bytes(config.n_layer, config.n_embd, target.n_positions)
allocated = cache.keys.nbytes + cache.values.nbytes
print(f"formula {computed / 2**20:.1f} MiB, allocated {allocated / 2**20:.1f} MiB")
print(f"for {target.n_positions} tokens")
assert computed == allocated

# %% [markdown]
# ## 2.6 · Two caches in step
#
# *5 minutes · ●●○*
#
# In speculative decoding both models have a cache. The draft runs ahead; then the target decides; then both go back to what was
# decided. One rule keeps them in step without special cases: **feeding is giving the cache what it lacks**. If the draft's cache
# lacks two tokens, it is fed two.
#
# **Write** what to feed.


# %%
def lacking(tokens: list[int], in_cache: list[int]) -> tuple[int, list[int]]:
    """Return the length to roll back to, and the tokens to feed then, so that the cache
    holds all of `tokens`.

    Example: lacking([1, 2, 3, 4], [1, 2, 9]) is (2, [3, 4])
    (the 9 was rejected, and 3 and 4 are missing)
    """
    # BEGIN SOLUTION
    shared = 0
    while (
        shared < min(len(tokens), len(in_cache)) and tokens[shared] == in_cache[shared]
    ):
        shared += 1
    return shared, tokens[shared:]
    # END SOLUTION


# %%
lesson.check("lacking", lacking)

# %% [markdown]
# In the code base: `minispec/model/cache.py` and `minispec/model/session.py`.

# %% [markdown]
# ## References
#
# - Shazeer, *Fast Transformer Decoding: One Write-Head is All You Need*, 2019 (arXiv 1911.02150): what the cache costs in memory traffic.
# - Pope et al., *Efficiently Scaling Transformer Inference*, MLSys 2023 (arXiv 2211.05102): the cache in large systems.
# - Kwon et al., *Efficient Memory Management for Large Language Model Serving with PagedAttention*, SOSP 2023 (arXiv 2309.06180): a cache in pages.

# %%
lesson.progress()
