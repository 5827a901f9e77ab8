# %% [markdown]
# # 1 · The transformer forward, in NumPy
#
# **What does a language model compute when it writes the next word?**
#
# It is one function: token ids in, one score for every possible next token out. In this lesson you write that function for a
# real model, the small draft model that comes with minispec, and compare it with minispec's own.
#
# About 38 minutes. You need Python, NumPy, and the idea of a matrix product.
#
# **If you only have ten minutes:** run the first two cells, do 1.3 (attention, the heart of it), and let your forward pass
# write in 1.7.

# %%
import numpy as np

import minispec
from minispec.course.teaching import begin, explore, load_weights
from minispec.lab.viz.plots.runs import attention_figure
from minispec.lab.viz.plots.theory import laws_figure

lesson = begin("01")
model = minispec.load_model("draft-1.6m", backend="numpy")
weights = load_weights("draft-1.6m")  # name -> array
lesson

# %%
prompt = "One day a little fox went to the"
written = minispec.generate(
    prompt, target=model, draft=None, temperature=0.0, max_tokens=24
)
print(prompt + written.text)

scores = model.logits(model.tokenizer.encode(prompt))[-1]
best = np.argsort(-scores)[:8]
probs = np.exp(scores - scores.max()) / np.exp(scores - scores.max()).sum()
laws_figure(
    {"probability of the next token": probs[best]},
    [repr(model.tokenizer.decode([int(token)])) for token in best],
)

# %% [markdown]
# **Look.** The model has written a few words. Before each of them it gave every token of its vocabulary a probability; the bars
# are its eight favourites for the first one. At the end of this lesson *your* function writes the same text.
#
# ## 1.1 · From text to vectors
#
# *7 minutes · ●○○*
#
# **Why.** A model has a fixed vocabulary of `V` tokens: pieces of words, each with a number. A text becomes a list of `T`
# numbers. Two tables turn the numbers into vectors of width `C`: `wte`, shape `[V, C]`, says *what* a token is, and `wpe`,
# shape `[n_positions, C]`, says *where* it stands. Their sum is what the layers work on.
#
# **Predict.** All the arrays of this model together hold 1.6 million numbers. The layers do the thinking. What share of the
# numbers is in the two tables? Type a share between 0 and 1; a guess to within a tenth of it will do.

# %%
lesson.predict("tables", 0.75)

# %%
sizes = {"two tables": weights["wte.weight"].size + weights["wpe.weight"].size}
for i in range(model.config.n_layer):
    prefix = f"h.{i}."
    sizes[f"layer {i}"] = sum(
        a.size for name, a in weights.items() if name.startswith(prefix)
    )
laws_figure({"numbers": np.array(list(sizes.values()))}, list(sizes), "numbers")

# %% [markdown]
# Now a text. Here are its tokens, and the shapes of the two tables and of two matrices of the first layer:

# %%
tokens = model.tokenizer.encode("One day a little fox went to the river.")
print(tokens, [model.tokenizer.decode([token]) for token in tokens])
for name in (
    "wte.weight",
    "wpe.weight",
    "h.0.attn.c_attn.weight",
    "h.0.mlp.c_fc.weight",
):
    print(f"{name:24} {weights[name].shape}")

# %% [markdown]
# **Predict.** What is the shape of the sum of the two embeddings for these tokens? Type it as a tuple, with the numbers
# that the cell above has printed.

# %%
lesson.predict("shape", (10, 128))


# %%
def embed(
    wte: np.ndarray, wpe: np.ndarray, tokens: list[int], start: int = 0
) -> np.ndarray:
    """Return token plus position embeddings, shape [T, C].

    wte: [V, C]; wpe: [n_positions, C]; start: the position of the first token (0 for a
        whole text)
    """
    # BEGIN SOLUTION
    return wte[tokens] + wpe[start : start + len(tokens)]
    # END SOLUTION


# %%
lesson.check("embed", embed)

# %%
embed = lesson.working("embed", embed)

# %% [markdown]
# ## 1.2 · Layer norm
#
# *4 minutes · ●○○*
#
# **Why.** Before each sublayer every token's vector is brought to mean 0 and variance 1, so that no layer has to cope with
# wild scales; then a learned scale and shift are applied. Each token is treated on its own: row by row.


# %%
def layer_norm(
    x: np.ndarray, weight: np.ndarray, bias: np.ndarray, epsilon: float = 1e-5
) -> np.ndarray:
    """Normalise each row of x, shape [T, C], then scale and shift.

    Divide by sqrt(variance + epsilon); the variance is the mean of the squared
    deviations.
    """
    # BEGIN SOLUTION
    mean = x.mean(axis=-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(axis=-1, keepdims=True)
    return (x - mean) / np.sqrt(variance + epsilon) * weight + bias
    # END SOLUTION


# %%
lesson.check("layer_norm", layer_norm)

# %%
layer_norm = lesson.working("layer_norm", layer_norm)

# %% [markdown]
# ## 1.3 · Attention: who looks at whom
#
# *9 minutes · ●●○*
#
# **Why.** Up to here each token knows only itself. Attention lets it collect from earlier ones. Every token makes a *query*
# (what am I looking for?), a *key* (what do I offer?) and a *value* (what do I hand over?), each of size `D`. The score of
# token `t` for token `s` is `query[t] · key[s] / sqrt(D)`; a softmax turns the scores into weights; the weights mix the
# values. A token must not look into the future, or the model could cheat in training: token `t` sees `s <= t`.
#
# **Predict.** A text of 9 tokens: how many of the 81 weights of one head are allowed to differ from zero?

# %%
lesson.predict("visible", 45)


# %%
def attention(queries: np.ndarray, keys: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Mix the values of one head, causally.

    All three arrays, and what comes out, have the shape [T, D].

    Subtract the largest score of a row before `exp`: the weights stay the same, and
    nothing overflows.
    """
    # BEGIN SOLUTION
    length, size = queries.shape
    scores = queries @ keys.T / np.sqrt(size)
    future = np.triu(np.ones((length, length), bool), k=1)
    scores = np.where(future, -np.inf, scores)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights /= weights.sum(axis=-1, keepdims=True)
    return weights @ values
    # END SOLUTION


# %%
lesson.check("attention", attention)

# %%
attention = lesson.working("attention", attention)

# %% [markdown]
# ## 1.4 · Put together
#
# *5 minutes · ●●○*
#
# One layer adds two things to its input. First comes attention over the normed input. Then comes a small network (`c_fc`, GELU,
# `c_proj`) over the normed result. *Adds*: the input itself passes through, so a layer only has to learn a correction. We wrote
# this part for you; two small helpers first.


# %%
def gelu(x: np.ndarray) -> np.ndarray:
    """A smooth ramp: x where x is large, 0 where it is very negative."""
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def norm(name: str, x: np.ndarray) -> np.ndarray:
    """Your layer_norm, with the scale and shift of that name."""
    return layer_norm(x, weights[f"{name}.weight"], weights[f"{name}.bias"])


def linear(name: str, x: np.ndarray) -> np.ndarray:
    """A product with the matrix of that name, plus its bias."""
    return x @ weights[f"{name}.weight"] + weights[f"{name}.bias"]


# %% [markdown]
# Read the next cell from top to bottom: it is the whole model.


# %%
def layer(x: np.ndarray, i: int) -> np.ndarray:
    """Run layer i on x, shape [T, C]."""
    qkv = linear(f"h.{i}.attn.c_attn", norm(f"h.{i}.ln_1", x))  # [T, 3C]
    queries, keys, values = (
        np.split(part, model.config.n_head, axis=-1)
        for part in np.split(qkv, 3, axis=-1)
    )  # each is a list of n_head arrays [T, D]
    heads = [attention(*head) for head in zip(queries, keys, values, strict=True)]
    x = x + linear(f"h.{i}.attn.c_proj", np.concatenate(heads, axis=-1))
    inner = gelu(linear(f"h.{i}.mlp.c_fc", norm(f"h.{i}.ln_2", x)))
    return x + linear(f"h.{i}.mlp.c_proj", inner)


def forward(tokens: list[int]) -> np.ndarray:
    """Return the scores (logits) of the token after each position, shape [T, V]."""
    x = embed(weights["wte.weight"], weights["wpe.weight"], tokens)
    for i in range(model.config.n_layer):
        x = layer(x, i)
    return norm("ln_f", x) @ weights["wte.weight"].T  # the token table once more


# %%
logits = forward(tokens)
theirs = model.logits(tokens)
print(
    f"shape {logits.shape}; largest difference from minispec's scores: "
    f"{abs(logits - theirs).max():.1e}"
)
print(f"largest score: {abs(theirs).max():.1f}")

# %% [markdown]
# Two programs, one model: the difference is the rounding of float32, because the two add up in different orders. Remember
# that. It comes back in lesson 10, where the order of a sum decides whether two runs give the *same* text.
#
# ## 1.5 · From scores to a token
#
# *5 minutes · ●○○*
#
# **Why.** The scores become probabilities: `exp` makes them positive, dividing by the sum makes them add up to 1. A
# *temperature* divides the scores first: below 1 the likeliest token gets more, above 1 the others do.
#
# **Wrong first.** The formula as it stands in a textbook. The model's scores are small, as you have seen; here are larger ones:

# %%
scores = np.array([1000.0, 999.0, 0.0])
with np.errstate(all="ignore"):
    textbook = np.exp(scores) / np.exp(scores).sum()
print("textbook:", textbook)
assert np.isnan(textbook).any()

# %% [markdown]
# `exp(1000)` is infinite, and infinity divided by infinity is not a number. Subtracting the largest score from all of them
# changes nothing in the result, because it divides above and below by the same number. And nothing can overflow.


# %%
def softmax(logits: np.ndarray, temperature: float = 1.0) -> np.ndarray:
    """Turn scores, shape [V], into probabilities: exp(logits / temperature),
    normalised. Must not overflow.
    """
    # BEGIN SOLUTION
    shifted = (logits - logits.max()) / temperature
    weights = np.exp(shifted)
    return weights / weights.sum()
    # END SOLUTION


# %%
lesson.check("softmax", softmax)

# %%
softmax = lesson.working("softmax", softmax)


def most_likely(temperature: float):
    """Draw the eight likeliest next tokens."""
    probs = softmax(logits[-1].astype(np.float64), temperature)
    best = np.argsort(-probs)[:8]
    figure = laws_figure(
        {f"temperature {temperature:g}": probs[best]},
        [repr(model.tokenizer.decode([int(token)])) for token in best],
    )
    figure.axes[0].set_ylim(0, 1)  # the same for every temperature
    return figure


explore(most_likely, temperature=[0.3, 0.7, 1.0, 1.5, 3.0])

# %% [markdown]
# **Predict.** What does temperature do to the *order* of the tokens? Answer `"nothing"`, `"reverses it"` or `"shuffles it"`.

# %%
lesson.predict("order", "nothing")

# %% [markdown]
# ## 1.6 · Look inside
#
# *4 minutes · ●○○*
#
# Which earlier token does each token look at? The picture has a row for each token and a column for each token that it may look
# at. The empty upper triangle is the future. Each layer has several heads, and each of them looks for something else.


# %%
def pattern(at_layer: int, head: int):
    """Draw the attention weights of one head."""
    x = embed(weights["wte.weight"], weights["wpe.weight"], tokens)
    for i in range(at_layer):
        x = layer(x, i)
    qkv = linear(f"h.{at_layer}.attn.c_attn", norm(f"h.{at_layer}.ln_1", x))
    queries, keys = (
        np.split(part, model.config.n_head, -1)[head]
        for part in np.split(qkv, 3, axis=-1)[:2]
    )
    scores = queries @ keys.T / np.sqrt(queries.shape[-1])
    rows = [
        np.append(softmax(scores[t, : t + 1]), np.zeros(len(tokens) - t - 1))
        for t in range(len(tokens))
    ]
    return attention_figure(
        np.array(rows), [model.tokenizer.decode([token]) for token in tokens]
    )


explore(
    pattern,
    at_layer=list(range(model.config.n_layer)),
    head=list(range(model.config.n_head)),
)

# %% [markdown]
# ## 1.7 · It writes
#
# *4 minutes · ●○○*
#
# That is all a language model does: scores for the next token. To write, take a token, append it, and ask again. Change the
# prompt, the temperature, the seed.


# %%
def write(prompt: str, num_tokens: int, temperature: float, seed: int = 0) -> str:
    """Let your forward write: drawn at random, or greedily at temperature 0."""
    rng = np.random.default_rng(seed)
    text = model.tokenizer.encode(prompt)
    for _ in range(num_tokens):
        last = forward(text)[-1].astype(np.float64)
        if temperature == 0:
            text.append(int(np.argmax(last)))
        else:
            text.append(int(rng.choice(len(last), p=softmax(last, temperature))))
    return model.tokenizer.decode(text)


print(write("Once upon a time there was a little fox", 40, temperature=0.7))

# %% [markdown]
# Slow, is it not? For every token it reads the whole text again. Lesson 2 is about that. And a test that is stricter than any
# look at the numbers: at temperature 0 it must write what minispec wrote at the top.

# %%
greedy = write(prompt, 24, temperature=0)
print(greedy)
print("the same text as at the top:", greedy == prompt + written.text)
assert greedy == prompt + written.text

# %% [markdown]
# ## What you can do now
#
# - Write a GPT-2 forward pass in NumPy, and say what each of its parts is for.
# - Write a softmax that cannot overflow, and say what temperature does.
# - Say why a small model is mostly its tables.
#
# In the code base: `minispec/engine/model/forward.py` is your `forward`, with a cache; `minispec/engine/backends/base.py` has the
# operations in NumPy. Both are stops of the reading path, `docs/reading.md`.

# %% [markdown]
# ## References
#
# - Vaswani et al., *Attention Is All You Need*, NeurIPS 2017 (arXiv 1706.03762): attention, `sqrt(D)`, the causal mask.
# - Radford et al., *Language Models are Unsupervised Multitask Learners*, OpenAI, 2019: GPT-2, the layout used here.
# - Ba, Kiros and Hinton, *Layer Normalization*, 2016 (arXiv 1607.06450).
# - Hendrycks and Gimpel, *Gaussian Error Linear Units (GELUs)*, 2016 (arXiv 1606.08415).

# %%
lesson.progress()
