# %% [markdown]
# # 2 · The KV cache, and going back
#
# **Each new token looks at all earlier ones. Must the model read the whole text again for every token?**
#
# No. It keeps what it needs in a memory, the *KV cache*. Speculative decoding asks one more thing of that memory: it must be able to
# **go back**, because draft tokens that are rejected have already been written into it.
#
# About 35 minutes. You need lesson 1.
#
# **If you only have ten minutes:** do 2.2 (who sees whom) and run the cells of 2.4: going back is what speculation asks of a cache.

# %%
from itertools import pairwise

import numpy as np

import minispec
from minispec.course.teaching import begin, explore, load_weights, record, time_all
from minispec.lab.viz.plots.runs import attention_figure, slots_figure
from minispec.lab.viz.plots.theory import curves_figure

lesson = begin("02")
lesson

# %%
slots_figure(
    [
        ("the text so far", ["Once", "upon", "a"], 3),
        ("a draft of 3", ["Once", "upon", "a", "hill", "in", "May"], 6),
        ("only hill is accepted", ["Once", "upon", "a", "hill", "in", "May"], 4),
    ]
)

# %% [markdown]
# **Look.** Each row is the memory at one moment, a slot per token. Blue counts; grey is still there and no longer counts; the red
# line is the length. How can going back be so cheap? You will write it in 2.4.
#
# ## 2.1 · Why
#
# *3 minutes · ●○○*
#
# Without a memory, generating `n` tokens means a forward pass over 1 token, then over 2, then over 3, …
#
# **Predict.** How many tokens go through the model in all for `n = 100`?

# %%
lesson.predict("without", 5050)

# %% [markdown]
# Let us time both ways. `model.forward(tokens, cache, num_logits=1)` reads tokens, adds their keys and values to the cache, and
# returns one row of scores: for the token after the last one. `model.new_cache()` is an empty memory.

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


# %%
lengths = [1, 8, 16, 32, 48, 64]
ways = {"without a cache": without_cache, "with one": with_cache}
times = time_all(
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
# scores are the same: the cell that timed them has compared them.
#
# ## 2.2 · Attention with a memory
#
# *6 minutes · ●●○*
#
# **Why.** The keys and values of earlier tokens never change: token `s` was computed from tokens `0..s` only. So they are kept,
# and a forward pass over `m` new tokens computes queries, keys and values for these only. Say that the memory has `S` slots in use,
# the new ones included. Then new token `i` (0, …, m − 1) stands in slot `S − m + i` and sees the slots `0 … S − m + i`.


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
# *9 minutes · ●●○*
#
# **Why.** Here is attention with a memory, with your mask in it: `remember` writes the new keys and values after the old
# ones, `attend` lets only the new tokens ask.


# %%
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


# %% [markdown]
# The memory must save work and change nothing: eight tokens in blocks of 5, 1 and 2 give the rows that all eight at once give.

# %%
rng = np.random.default_rng(0)
queries, keys, values = rng.standard_normal((3, 8, 4))
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
# And now the forward pass of lesson 1, with such a memory for each head of each layer. Its helpers are those of lesson 1:

# %%
weights = load_weights("draft-1.6m")


def gelu(x: np.ndarray) -> np.ndarray:
    """As in lesson 1."""
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def norm(name: str, x: np.ndarray) -> np.ndarray:
    """Layer norm, as in lesson 1."""
    spread = np.sqrt(x.var(axis=-1, keepdims=True) + 1e-5)
    x = (x - x.mean(axis=-1, keepdims=True)) / spread
    return x * weights[f"{name}.weight"] + weights[f"{name}.bias"]


def linear(name: str, x: np.ndarray) -> np.ndarray:
    """A product with a weight matrix, and its bias."""
    return x @ weights[f"{name}.weight"] + weights[f"{name}.bias"]


# %% [markdown]
# Two things are new: positions begin where the memory ends, and `remember` and `attend` take the place of `attention`.


# %%
def forward(new: list[int], memories: list[list[Memory]]) -> np.ndarray:
    """Feed new tokens only; return the scores, [V], after the last of them."""
    start = memories[0][0].length
    positions = weights["wpe.weight"][start : start + len(new)]
    x = weights["wte.weight"][new] + positions
    for i, heads in enumerate(memories):
        qkv = np.split(linear(f"h.{i}.attn.c_attn", norm(f"h.{i}.ln_1", x)), 3, axis=-1)
        mixed = []
        for memory, q, k, v in zip(
            heads, *(np.split(part, len(heads), axis=-1) for part in qkv), strict=True
        ):
            memory.remember(k, v)
            mixed.append(memory.attend(q))
        x = x + linear(f"h.{i}.attn.c_proj", np.concatenate(mixed, axis=-1))
        inner = gelu(linear(f"h.{i}.mlp.c_fc", norm(f"h.{i}.ln_2", x)))
        x = x + linear(f"h.{i}.mlp.c_proj", inner)
    return norm("ln_f", x)[-1] @ weights["wte.weight"].T


# %% [markdown]
# It writes. The prompt is fed once; from then on each pass gets *one* token, the one that was written last. The picture shows what
# the memories hold after each pass.

# %%
prompt, num_tokens = "Once upon a time there was", 6
num_layers, num_heads = model.config.n_layer, model.config.n_head
size = model.config.n_embd // num_heads
memories = [[Memory(64, size) for _ in range(num_heads)] for _ in range(num_layers)]
new = model.tokenizer.encode(prompt)
fed, moments, written = [], [], []
for _ in range(num_tokens):
    scores = forward(new, memories)
    fed += new
    slots = [model.tokenizer.decode([token]) for token in fed]
    moments.append((f"{len(new)} new", slots, memories[0][0].length))
    new = [int(np.argmax(scores))]
    written += new
print(prompt + model.tokenizer.decode(written))
slots_figure(moments)

# %%
theirs = minispec.generate(
    prompt, target=model, draft=None, temperature=0.0, max_tokens=num_tokens
)
num_prompt = len(fed) - num_tokens + 1
again = sum(num_prompt + i for i in range(num_tokens))
print(f"tokens fed: {len(fed)} with the memory, {again} if all were read again")
print("the same text as minispec's:", written == list(theirs.token_ids))
assert written == list(theirs.token_ids)
assert {memory.length for heads in memories for memory in heads} == {len(fed)}

# %% [markdown]
# **Look.** Each pass after the first writes one slot. The last token of the text is in no memory yet: the next pass will be fed with
# it.

# %%
assert [length for _, _, length in moments] == list(range(num_prompt, len(fed) + 1))
assert len(fed) == num_prompt + len(written) - 1

# %% [markdown]
# ## 2.4 · Going back is setting a length
#
# *6 minutes · ●●○*
#
# **Why.** The memory is allocated once, with room for the whole context, and a *length* says how much of it counts. To forget
# the last tokens, set the length back. Nothing is erased: what lies beyond the length is never read, and the next tokens write
# over it. `rollback(n)` means "keep the first n", not "drop n": if you call it twice, nothing more happens.
#
# **Write** what such a memory holds after some operations. `slots` stands in for keys and values: it stores token ids.


# %%
def after(operations: list[tuple[str, object]]) -> list[int]:
    """Return the tokens that count after all operations, in order.

    operations: ("store", [token, ...]) writes at the next free slots; ("rollback", n)
        keeps at most the first n
    64 slots are enough. The array and the length that you need are there already.

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

# %% [markdown]
# **Wrong first.** The real thing: a *session* is a model, its cache and the tokens in it. `session.score(tokens)` feeds tokens and
# returns their rows of scores. What if you do not go back after a rejected draft?

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
# The model continues a text that nobody has written. Now with the rollback:

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
# **Why.** Per token the cache holds a key and a value of width `C` for each of the `L` layers. That takes memory, and every
# pass reads all of it.
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
for kv_dtype, bytes_per_number in (("float16", 2), ("float32", 4)):
    target = minispec.load_model("target-17m", kv_dtype=kv_dtype)
    cache, config = target.new_cache(), target.config
    sizes = config.n_layer, config.n_embd, target.n_positions
    computed = cache_bytes(*sizes, bytes_per_number)
    allocated = cache.keys.nbytes + cache.values.nbytes
    print(f"{kv_dtype}: formula {computed / 2**20:.1f} MiB,", end=" ")
    print(f"allocated {allocated / 2**20:.1f} MiB for {target.n_positions} tokens")
    assert computed == allocated

# %% [markdown]
# float32 is the default. In float16 every key and value is rounded once, when it is stored: half the memory and half the reading, for
# logits that move by less than a thousandth of the largest.
#
# ## 2.6 · Two caches in step
#
# *7 minutes · ●●○*
#
# In speculative decoding both models have a cache. The draft runs ahead; then the target decides; then both go back to what was
# decided. One rule keeps them together without special cases: **feed the cache what it lacks**. If the draft's cache lacks two
# tokens, feed it two.
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
# **Step through it.** The real engine on a prompt of yours. Use the buttons, or click on the picture and use the arrow keys. Watch
# the slots; lessons 4 and 5 explain the bars.
#
# - The draft runs ahead in its own cache. The target's single pass writes all draft tokens at once.
# - At the end of the step both go back. What is struck through is still there; the next step writes over it.
# - The last token of the text is in neither cache: it waits to be fed.
# - The first token comes from the last row of the prompt, without a draft. The draft model reads the prompt after that.


# %%
def run(prompt: str):
    """Record a short greedy run."""
    return record(
        prompt, target=target, draft=model, gamma=3, temperature=0.0, max_tokens=8
    )


explore(run, prompt="Once upon a time there was a little girl who")

# %%
frames = run("Once upon a time there was a little girl who").frames
seen = set()
for before, over in pairwise(frames):
    if over.stage == "commit" and before.stage in ("replace", "bonus"):  # it drafted
        target_lacks, draft_lacks = (len(over.text) - c.length for c in over.caches)
        whole = before.stage == "bonus"
        seen.add(whole)
        print(
            f"{'all' if whole else 'not all'} accepted: the draft lacks {draft_lacks}"
        )
        assert target_lacks == 1
        assert draft_lacks == (2 if whole else 1)
assert seen == {True, False}  # this run has both kinds of steps

# %% [markdown]
# If all draft tokens are accepted, the draft's cache lacks *two* tokens: it drew its own last token, but was never fed with it. That
# is why the rule says "feed the cache what it lacks", not "feed the last token".

# %% [markdown]
# ## What you can do now
#
# - Say who sees whom when new tokens join a cache, and write the mask.
# - Go back in a cache by setting a length, and say why nothing needs to be erased.
# - Compute how many bytes a cache takes.
# - Keep two caches together with one rule.
#
# In the code base: `minispec/engine/model/cache.py` and `minispec/engine/model/session.py`.

# %% [markdown]
# ## References
#
# - Shazeer, *Fast Transformer Decoding: One Write-Head is All You Need*, 2019 (arXiv 1911.02150): what the cache costs in memory traffic.
# - Pope et al., *Efficiently Scaling Transformer Inference*, MLSys 2023 (arXiv 2211.05102): the cache in large systems.
# - Kwon et al., *Efficient Memory Management for Large Language Model Serving with PagedAttention*, SOSP 2023 (arXiv 2309.06180): a cache in pages.

# %%
lesson.progress()
