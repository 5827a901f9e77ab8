# %% [markdown]
# # 2 · The KV cache, and going back
#
# Each new token attends to all earlier ones. Without a memory, a model would read the whole text again for every token. The
# memory is called the *KV cache*. Speculative decoding asks one more thing of it: it must be able to **go back**, because
# drafted tokens that are rejected have already been written into it.
#
# About 25 minutes. You need lesson 1.

# %%
import time

import numpy as np

import minispec
from minispec.teaching import begin, explore
from minispec.viz.plots.curves import curves_figure

lesson = begin("02")
lesson

# %% [markdown]
# ## 2.1 · Why
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


def without_cache(n: int) -> float:
    """Seconds to get n rows of logits, reading everything again each time."""
    started = time.perf_counter()
    for i in range(n):
        model.forward(text[: i + 1], model.new_cache(), num_logits=1)
    return time.perf_counter() - started


def with_cache(n: int) -> float:
    """Seconds for the same rows, feeding each token once."""
    cache = model.new_cache()
    started = time.perf_counter()
    for i in range(n):
        model.forward(text[i : i + 1], cache, num_logits=1)
    return time.perf_counter() - started


lengths = [1, 8, 16, 32, 48, 64]
curves_figure(
    lengths,
    {"without a cache": [1e3 * without_cache(n) for n in lengths], "with one": [1e3 * with_cache(n) for n in lengths]},
    "tokens generated",
    "milliseconds in all",
)

# %% [markdown]
# **Look.** One curve is straight, the other bends: the work without a cache grows with the square of the length. The rows of
# logits are the same.
#
# ## 2.2 · Attention with a memory
#
# **Why.** The keys and values of earlier tokens never change: token `s` was computed from tokens `0..s` only. So they are kept,
# and a forward over `m` new tokens computes queries, keys and values for these only. With `S` entries in the memory, the new
# ones included, new token `i` (0, …, m − 1) stands at place `S − m + i` and sees the places `0 … S − m + i`.


# %%
def visible(num_new: int, num_slots: int) -> np.ndarray:
    """Return which slots each new token sees: bool, shape [num_new, num_slots]; the new tokens are the last slots.

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
    from minispec.viz.plots.attention import attention_figure

    slots = 5 + num_new
    mask = np.zeros((slots, slots))
    mask[5:] = visible(num_new, slots)
    return attention_figure(mask, [f"old {i}" for i in range(5)] + [f"new {i}" for i in range(num_new)])


explore(picture, num_new=[1, 2, 4, 6])

# %% [markdown]
# ## 2.3 · Going back is setting a length
#
# **Why.** The memory is allocated once, with room for the whole context, and a *length* says how much of it counts. To forget
# the last tokens, set the length back. Nothing is erased: what lies beyond the length is never read, and the next tokens write
# over it. `rollback(n)` means "keep the first n", not "drop n": said twice, it does the same.
#
# **Write** what such a memory holds after some operations. `slots` stands in for keys and values: it stores token ids.


# %%
def after(operations: list[tuple[str, object]]) -> list[int]:
    """Return the tokens that count after all operations, in order.

    operations: ("store", [token, ...]) writes at the next free slots; ("rollback", n) keeps at most the first n
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
# Now the real thing. A *session* is a model, a cache and the tokens that are in it.

# %%
session = model.session()
session.score([1, 2, 3])
first = session.score([4])[-1]
session.score([50, 60, 70])  # a draft, say; all of it will be rejected
session.rollback(3)
again = session.score([4])[-1]
print("tokens:", session.tokens)
print("same bits after going back:", np.array_equal(first, again))

# %% [markdown]
# ## 2.4 · What it costs
#
# **Why.** Per token the cache holds a key and a value of width `C` for each of the `L` layers. That is memory, and every
# forward reads all of it.
#
# **Predict.** The bundled target has 8 layers of width 384 and stores float32 (4 bytes). How many bytes does *one* token take?

# %%
lesson.predict("per_token", 24576)


# %%
def cache_bytes(n_layer: int, n_embd: int, num_tokens: int, bytes_per_number: int = 4) -> int:
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
print(
    f"formula {cache_bytes(target.config.n_layer, target.config.n_embd, target.n_positions) / 2**20:.1f} MiB, "
    f"allocated {(cache.keys.nbytes + cache.values.nbytes) / 2**20:.1f} MiB for {target.n_positions} tokens"
)

# %% [markdown]
# ## 2.5 · Two caches in step
#
# In speculative decoding both models have a cache. The draft runs ahead; then the target decides; then both go back to what was
# decided. One rule keeps them in step without special cases: **feeding is giving the cache what it lacks**. If the draft's cache
# lacks two tokens, it is fed two.
#
# **Write** what to feed.


# %%
def lacking(tokens: list[int], in_cache: list[int]) -> tuple[int, list[int]]:
    """Return the length to roll back to, and the tokens to feed then, so that the cache holds all of `tokens`.

    Example: lacking([1, 2, 3, 4], [1, 2, 9]) is (2, [3, 4]): the 9 was rejected, and 3, 4 are missing
    """
    # BEGIN SOLUTION
    shared = 0
    while shared < min(len(tokens), len(in_cache)) and tokens[shared] == in_cache[shared]:
        shared += 1
    return shared, tokens[shared:]
    # END SOLUTION


# %%
lesson.check("lacking", lacking)

# %% [markdown]
# In the code base: `minispec/model/cache.py` and `minispec/model/session.py`, stops 2 and 5 of the reading path.

# %%
lesson.progress()
