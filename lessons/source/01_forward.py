# %% [markdown]
# # 1 · The transformer forward, in NumPy
#
# A language model is a function: token ids in, one score for every possible next token out. In this lesson you write that
# function for a real model, the small draft that comes with minispec, and compare it with minispec's own.
#
# About 35 minutes. You need Python, NumPy, and the idea of a matrix product.

# %% [markdown]
# **If you only have ten minutes:** read 1.1, do 1.3 (attention, the heart of it), and let your forward write in 1.7.

# %%
import numpy as np
from safetensors.numpy import load_file

import minispec
from minispec.course.teaching import begin, explore
from minispec.engine.loading.bundled import bundled_folders
from minispec.lab.viz.plots.runs import attention_figure
from minispec.lab.viz.plots.theory import laws_figure

lesson = begin("01")
lesson

# %% [markdown]
# ## 1.1 · From text to vectors
#
# *4 minutes · ●○○*
#
# **Why.** A model has a fixed vocabulary of `V` tokens: pieces of words, each with a number. A text becomes a list of `T`
# numbers. Two tables turn the numbers into vectors of width `C`: `wte`, shape `[V, C]`, says *what* a token is, and `wpe`,
# shape `[n_positions, C]`, says *where* it stands. Their sum is what the layers work on.

# %%
model = minispec.load_model("draft-1.6m", backend="numpy")
weights = {
    name.removeprefix("transformer."): np.asarray(array, np.float32)
    for name, array in load_file(
        bundled_folders()["draft-1.6m"] / "model.safetensors"
    ).items()
}
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
# One layer adds two things to its input: attention over the normed input, then a small network (`c_fc`, GELU, `c_proj`) over
# the normed result. *Adds*: the input itself passes through, so a layer only has to learn a correction. The rest is
# bookkeeping, and we wrote it for you. Read it from top to bottom: it is the whole model.


# %%
def gelu(x: np.ndarray) -> np.ndarray:
    """A smooth ramp: x where x is large, 0 where it is very negative."""
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def layer(x: np.ndarray, i: int) -> np.ndarray:
    """Run layer i on x, shape [T, C]."""

    def norm(name, x):
        return layer_norm(
            x, weights[f"h.{i}.{name}.weight"], weights[f"h.{i}.{name}.bias"]
        )

    def linear(name, x):
        return x @ weights[f"h.{i}.{name}.weight"] + weights[f"h.{i}.{name}.bias"]

    qkv = linear("attn.c_attn", norm("ln_1", x))  # [T, 3C]
    queries, keys, values = (
        np.split(part, model.config.n_head, axis=-1)
        for part in np.split(qkv, 3, axis=-1)
    )
    heads = [
        attention(q, k, v) for q, k, v in zip(queries, keys, values, strict=True)
    ]  # n_head arrays [T, D]
    x = x + linear("attn.c_proj", np.concatenate(heads, axis=-1))
    return x + linear("mlp.c_proj", gelu(linear("mlp.c_fc", norm("ln_2", x))))


def forward(tokens: list[int]) -> np.ndarray:
    """Return the scores (logits) of the token after each position, shape [T, V]."""
    x = embed(weights["wte.weight"], weights["wpe.weight"], tokens)
    for i in range(model.config.n_layer):
        x = layer(x, i)
    x = layer_norm(x, weights["ln_f.weight"], weights["ln_f.bias"])
    return x @ weights["wte.weight"].T  # the head is the token table again


logits = forward(tokens)
theirs = model.logits(tokens)
print(
    f"shape {logits.shape}; largest difference from minispec's forward: "
    f"{abs(logits - theirs).max():.1e}"
)
print(f"largest logit: {abs(theirs).max():.1f}")

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
# **Wrong first.** The formula as it stands in a textbook, on three scores that a model could well produce:

# %%
scores = np.array([1000.0, 999.0, 0.0])
with np.errstate(all="ignore"):
    textbook = np.exp(scores) / np.exp(scores).sum()
print("textbook:", textbook)
assert np.isnan(textbook).any()

# %% [markdown]
# `exp(1000)` is infinite, and infinity divided by infinity is not a number. Subtracting the largest score from all of them
# changes nothing in the result, since it divides above and below by the same number, and nothing can overflow.


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
# Which earlier token does each token look at? One row per token, one column per token it may look at. The empty upper
# triangle is the future. Each layer has several heads, and each of them looks for something else.


# %%
def pattern(at_layer: int, head: int):
    """Draw the attention weights of one head."""
    x = embed(weights["wte.weight"], weights["wpe.weight"], tokens)
    for i in range(at_layer):
        x = layer(x, i)
    block = f"h.{at_layer}"
    normed = layer_norm(
        x, weights[f"{block}.ln_1.weight"], weights[f"{block}.ln_1.bias"]
    )
    qkv = normed @ weights[f"{block}.attn.c_attn.weight"]
    qkv = qkv + weights[f"{block}.attn.c_attn.bias"]
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
# That is all a language model does: scores for the next token. To write, take a token, append it, and ask again. Every line
# of the forward below is yours (or ours, where yours is not there yet). Change the prompt, the temperature, the seed.


# %%
def write(prompt: str, num_tokens: int, temperature: float, seed: int = 0) -> str:
    """Let the forward above write: sampled, or greedily at temperature 0."""
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
# Slow, is it not? For every token it reads the whole text again. That is what lesson 2 is about. And a test that is stricter
# than any look at the numbers: at temperature 0 it must write what minispec writes.

# %%
greedy = write("Once upon a time there was a little fox", 12, temperature=0)
theirs = minispec.generate(
    "Once upon a time there was a little fox",
    target=model,
    draft=None,
    temperature=0.0,
    max_tokens=12,
)
print(greedy)
print("the same text as minispec's:", greedy.endswith(theirs.text))
assert greedy.endswith(theirs.text)

# %% [markdown]
# In the code base: `minispec/engine/model/forward.py` is `forward` above, with a cache; `minispec/engine/backends/base.py` has the
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
