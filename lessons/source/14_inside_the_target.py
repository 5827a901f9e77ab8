# %% [markdown]
# # 14 · Looking inside the target
#
# **Question.** The target has read your text with all its layers. After it drew a token, what does it already know about
# the token *after* that one?
#
# If it knows something, you need no draft model: a small layer on the target's own numbers can guess. Such a layer is called a
# *head*. In this lesson you train three heads by hand, in less than a minute, and let them draft.
#
# About 36 minutes. You need lessons 5 and 6.

# %%
import os
import time

for library in ("OPENBLAS", "MKL"):  # one thread for NumPy: on a busy machine several
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")  # wait for one another

import numpy as np

import minispec
from minispec.course.teaching import begin
from minispec.course.teaching import heads as ready
from minispec.lab.prompts import bundled_prompts
from minispec.lab.viz.plots.theory import curves_figure, laws_figure

lesson = begin("14")
target = minispec.load_model("target-17m")
DEPTH, WIDTH = target.config.n_layer, target.config.n_embd
output, weight, bias = ready.read_weights(target)
print(f"{DEPTH} layers, C = {WIDTH}, output matrix {output.shape}")
lesson

# %%
softmax, layer_norm = ready.softmax, ready.layer_norm  # as in lesson 1
text = "Once upon a time there was a little fox. One day the fox went to the river"
layers = list(range(1, DEPTH + 1))
states, logits = ready.read_states(target, target.tokenizer.encode(text), layers)
p = softmax(logits)  # what the target says in the end
early = [softmax(layer_norm(state, weight, bias) @ output.T) for state in states]
curves_figure(
    layers,
    {"overlap with the target": [np.minimum(p, q).sum(axis=1).mean() for q in early]},
    "the output matrix reads the numbers that leave this layer",
    "Σ min(p, q)",
)

# %% [markdown]
# **Look.** We took the numbers that leave each layer, and read them as if that layer were the last. The answer forms step by step: the
# first layers hardly know it, the last one has it. So these numbers are worth keeping.
#
# **If you only have ten minutes:** run 14.1 and 14.2 with our functions in place of yours, train in 14.3, and look at the picture in 14.4.
#
# ## 14.1 · What a hidden state is, and who keeps it
#
# *8 minutes · ●○○*
#
# **Why.** In lesson 1 a row of C numbers ran through the layers, and each layer added to it. After the last layer it is the *hidden
# state* of its token. The final norm and the output matrix turn these few hundred numbers into thousands of logits. Then the
# forward pass throws the state away. A head needs it, so somebody has to keep it.
#
# The right keeper is the KV cache. The pass that writes a token's keys and values also computes its state. The rollback that
# removes the keys and values must remove the state, too. So minispec's cache has a switch, `keep_features`: it keeps
# what leaves these layers (counted from 1). `read_features` returns it. Without the switch, the cache keeps nothing.

# %%
tokens = target.tokenizer.encode("Once upon a time there was a little fox")
session = target.session()
session.cache.keep_features([DEPTH])
logits = session.score(tokens)
states = session.cache.read_features([DEPTH], 0, session.length)
print(f"{len(tokens)} tokens, states {states.shape}, logits {logits.shape}")

# %% [markdown]
# **Predict.** A step has ended, and the text has 20 tokens: the prompt, the accepted drafts, and the token that the
# target drew last. For how many of them does the cache hold a state?

# %%
lesson.predict("states", 19)

# %% [markdown]
# And after a rollback? As in lesson 2, nothing is erased; only the length goes back. The slots after it still hold old numbers, but
# nobody may read them:

# %%
from minispec.errors import InvariantError

session.rollback(3)
slots = session.cache.features.states[0, 0]  # of every slot, whether it counts or not
written = [bool(np.any(slot)) for slot in slots[: len(tokens) + 2]]
print("length", session.length, "· something is written in", written)
try:
    session.cache.read_features([DEPTH], 0, len(tokens))
except InvariantError as refusal:
    print("refused:", refusal)
assert all(written[: len(tokens)])
assert not any(written[len(tokens) :])

# %% [markdown]
# Every head begins with the state of the last token that was fed, after the final norm. Write that. `layer_norm(row, weight, bias)`
# is the norm of lesson 1.


# %%
def read_state(
    slots: np.ndarray, length: int, weight: np.ndarray, bias: np.ndarray
) -> np.ndarray:
    """Return the normed state, shape [C], of the last token that was fed.

    slots: shape [S, C], what the cache holds in each slot; `length` of them count.
    weight, bias: of the final norm.
    """
    # BEGIN SOLUTION
    return layer_norm(slots[length - 1], weight, bias)
    # END SOLUTION


# %%
lesson.check("read_state", read_state)

# %%
read_state = lesson.working("read_state", read_state)
h = read_state(slots, session.length, weight, bias)
distance = abs(h @ output.T - logits[session.length - 1]).max()
print(f"from the state to the logits: largest difference {distance:.1e}")
assert distance < 1e-2

# %% [markdown]
# So the state holds everything that the target says about the next token. Perhaps it also knows something about the tokens after
# that. Every head bets on it.
#
# ## 14.2 · Which token a head guesses
#
# *6 minutes · ●●○*
#
# **Why.** A head learns from examples: a state, and what the target said later. The target writes the texts itself, at temperature
# 1, because a draft will meet the target's own text. `collect` decodes the bundled prompts in a batch and keeps the states as in 14.1.
# It holds out a third of the texts: you train on the others, and measure on these.

# %%
POSITIONS = ready.NUM_POSITIONS  # a head guesses up to three tokens ahead
prompts = [prompt.text for prompt in bundled_prompts()]
started = time.perf_counter()
ours, held_out = ready.collect(target, prompts)
print(f"{time.perf_counter() - started:.0f} s for {len(prompts)} texts")
h, h_held = ours.rows("state"), held_out.rows("state")
print(f"{len(h)} states to learn from, {len(h_held)} held out")

# %% [markdown]
# `rows("p")` is what the target said right after each state, `rows("p", later=1)` what it said one token later.
#
# How good is a guess? A token drawn from q is accepted with probability Σ min(p, q) (lesson 5). Take the mean over the rows:


# %%
def acceptance(p: np.ndarray, q: np.ndarray) -> float:
    """Return how often a token drawn from q is accepted: the mean over rows [R, V]."""
    # BEGIN SOLUTION
    return float(np.minimum(p, q).sum(axis=1).mean())
    # END SOLUTION


# %%
lesson.check("acceptance", acceptance)

# %% [markdown]
# The head, after Medusa (2024), is one matrix W, a bias, and the target's own output matrix. From a state h it guesses
#
# $$h + \mathrm{gelu}(h W + b) \qquad\text{and from that}\qquad q = \mathrm{softmax}\big(\text{output} \cdot (\ldots)\big)$$
#
# It has its own W and b for each position ahead. Training begins at W = 0 and b = 0.
#
# The target draws one token from the state h. We call that token *pending*: it is in the text, but no pass has read it yet. The
# token after it is at position 1, and so on.
#
# **Predict.** What is q of such a head before any training? `"uniform"`, the distribution of the `"pending"` token, or that of the token
# at `"position 1"`?

# %%
lesson.predict("start", "pending")

# %% [markdown]
# **Wrong first.** The state of a token says what follows that token. So let the first head learn that. How good is it before we begin?

# %%
acceptance = lesson.working("acceptance", acceptance)
untrained = softmax(h_held @ output.T)
wrong_position = acceptance(held_out.rows("p"), untrained)
print(f"what follows the token: accepted with {wrong_position:.3f}")
assert wrong_position > 0.99

# %% [markdown]
# Always accepted, without training! That is too good to be true: the guess *is* the target. But the target has already drawn the
# pending token from this very state. In the loop, this head would repeat the pending token's distribution one position too late. So
# compare with the right one: position 1.

# %%
right_position = acceptance(held_out.rows("p", later=1), untrained)
print(f"the same guess at position 1: accepted with {right_position:.3f}")
assert right_position < wrong_position - 0.3

# %% [markdown]
# ## 14.3 · A head, trained by hand
#
# *12 minutes · ●●●*
#
# **Why.** A draft is good if q is close to p. So make the cross-entropy small, the mean over the rows of
# $L = -\sum_x p(x) \log q(x)$. Write the head first. It reads one thing (`seen`) and adds to another (`state`). A Medusa head reads the
# state itself; in 14.4 it will read other things. `gelu` is the function of lesson 1, `gelu_slope` its derivative.

# %%
gelu, gelu_slope = ready.gelu, ready.gelu_slope


# %%
def guess_logits(
    state: np.ndarray,
    seen: np.ndarray,
    W: np.ndarray,
    b: np.ndarray,
    output: np.ndarray,
) -> np.ndarray:
    """Return the logits, [R, V], of guesses: state + gelu(seen W + b) under the output
    matrix.

    state: [R, C], seen: [R, D], W: [D, C], b: [C], output: [V, C]
    """
    # BEGIN SOLUTION
    return (state + gelu(seen @ W + b)) @ output.T
    # END SOLUTION


# %%
lesson.check("guess_logits", guess_logits)

# %% [markdown]
# Now its slope. Go backwards through the formula, one link at a time. Write $a = \text{seen}\,W + b$ and z for the logits.
#
# 1. $\log q(x) = z_x - \log \sum_y e^{z_y}$ and Σ p = 1, so $\partial L / \partial z = q - p$.
# 2. z is a product with the output matrix, which stays as it is: the slope in the guess is `(q - p) @ output`.
# 3. The guess is h + gelu(a): times `gelu_slope(a)`, number by number. Call the result, divided by the number of rows, `da`.
# 4. a is `seen @ W + b`: the slope in W is `seen.T @ da`, and in b the sum of `da` over the rows.


# %%
def gradient(
    state: np.ndarray,
    seen: np.ndarray,
    W: np.ndarray,
    b: np.ndarray,
    output: np.ndarray,
    p: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the slopes, in W and in b, of the mean over the rows of -sum(p log q).

    p: [R, V]; the others as in guess_logits.
    """
    # BEGIN SOLUTION
    a = seen @ W + b
    q = softmax((state + gelu(a)) @ output.T)
    da = (q - p) @ output * gelu_slope(a) / len(p)
    return seen.T @ da, da.sum(axis=0)
    # END SOLUTION


# %%
lesson.check("gradient", gradient)

# %% [markdown]
# You can test a slope without knowing its formula: move one weight a little, and see how much the loss moves.

# %%
guess_logits = lesson.working("guess_logits", guess_logits)
gradient = lesson.working("gradient", gradient)
rng = np.random.default_rng(0)
small = [rng.normal(size=shape) for shape in ((4, 3), (4, 3), (3, 3), (3,), (7, 3))]
p_small = rng.dirichlet(np.ones(7), 4)


def loss_with(change: float) -> float:
    """Return the loss after W[0, 1] was changed."""
    state, seen, W, *rest = small
    moved = W.copy()
    moved[0, 1] += change
    q = softmax(guess_logits(state, seen, moved, *rest))
    return float(-(p_small * np.log(q)).sum(axis=1).mean())


measured = (loss_with(1e-5) - loss_with(-1e-5)) / 2e-5
print(f"by formula {gradient(*small, p_small)[0][0, 1]:.8f}, measured {measured:.8f}")
assert np.isclose(gradient(*small, p_small)[0][0, 1], measured, rtol=1e-5)

# %% [markdown]
# Training takes one step down that slope, many times. `shuffle` goes over the rows three times, 64 at a time, in a new order each
# time. Adam (2015) takes the steps: it divides each slope by its usual size.


# %%
def train(state, seen, p):
    """Return W and b of a head that learns from rows, beginning at 0."""
    W = np.zeros((seen.shape[1], WIDTH), np.float32)
    b = np.zeros(WIDTH, np.float32)
    batches = ready.shuffle(len(p))
    adam = ready.Adam(len(batches))
    for rows in batches:
        slopes = gradient(state[rows], seen[rows], W, b, output, p[rows])
        W, b = adam.step((W, b), slopes)
    return W.astype(np.float32), b.astype(np.float32)


started = time.perf_counter()
heads = [train(h, h, ours.rows("p", later=k)) for k in range(1, POSITIONS + 1)]
print(f"{POSITIONS} heads in {time.perf_counter() - started:.0f} s")


# %%
def accepted_at(k: int, state, seen, head) -> float:
    """Return the acceptance at position k over the texts that were held out."""
    q = softmax(guess_logits(state, seen, *head, output))
    return acceptance(held_out.rows("p", later=k), q)


nothing = (np.zeros((WIDTH, WIDTH), np.float32), np.zeros(WIDTH, np.float32))
before, after = (
    [accepted_at(k + 1, h_held, h_held, head) for k, head in enumerate(each)]
    for each in ([nothing] * POSITIONS, heads)
)
for k in range(POSITIONS):
    print(f"position {k + 1}: {before[k]:.3f} untrained, {after[k]:.3f} trained")
laws_figure(
    {"untrained": np.array(before), "trained": np.array(after)},
    [f"position {k + 1}" for k in range(POSITIONS)],
    "Σ min(p, q)",
)

# %% [markdown]
# **Look.** Every position gains, on texts that the heads have never seen. All it took is some seven hundred states and seconds of one
# core. The first position is guessed better than the last: the state knows less about what is further away.

# %%
assert all(b < a for b, a in zip(before, after, strict=True))
assert after[0] > after[-1]

# %% [markdown]
# ## 14.4 · What it is worth to look inside
#
# *6 minutes · ●●○*
#
# **Why.** Is it the state that helps, or would any head have learned as much? Let a second head of the same size learn the same from
# the *text* alone. It reads the embedding of the last token fed; the first head reads that token's state.
#
# **Predict.** Which of the two is accepted more often at position 1: the one that reads the `"state"`, the one that reads the
# `"embedding"`, or is it the `"same"`?

# %%
lesson.predict("worth", "state")


# %%
def what_is_seen(examples) -> dict[str, np.ndarray]:
    """Return what five heads read."""
    state, pending = examples.rows("state"), examples.rows("embedding", later=1)
    return {
        "embedding": examples.rows("embedding"),
        "pending": pending,
        "layer 2": examples.rows("low"),
        "state": state,
        "both": np.concatenate([state, pending], axis=1),
    }


p_ours, seen_held = ours.rows("p", later=1), what_is_seen(held_out)
worth = {}
for name, seen in what_is_seen(ours).items():
    base, base_held = (h, h_held) if name == "both" else (seen, seen_held[name])
    head = heads[0] if name == "state" else train(base, seen, p_ours)
    worth[name] = accepted_at(1, base_held, seen_held[name], head)
laws_figure({"position 1": np.array(list(worth.values()))}, list(worth), "Σ min(p, q)")

# %% [markdown]
# - *embedding*: the last token fed, and nothing else
# - *pending*: the embedding of the pending token: still text alone, but one token further
# - *layer 2*: the numbers that leave the second layer
# - *state*: the Medusa head
# - *both*: the state, and the pending token next to it
#
# **Look.** The state beats the embedding: it pays to look inside. But a Medusa head does not know which token was
# drawn from its state. A head that reads both beats each alone. Lesson 15 begins with that head.

# %%
for name, accepted in worth.items():
    print(f"{name:10} {accepted:.3f}")
assert worth["state"] > worth["embedding"]
assert worth["state"] > worth["layer 2"]
assert worth["both"] > max(worth["state"], worth["pending"])

# %% [markdown]
# Is that a lot? Compare with a draft model. `draft-1.6m` reads only the text, but it has layers of its own and has learned from millions of
# tokens. At position 1 it has read everything up to the pending token.

# %%
draft = minispec.load_model("draft-1.6m")
q_draft = np.array(
    [softmax(draft.session().score(each)[-1]) for each in held_out.beginnings()[::4]]
)
whole = acceptance(held_out.rows("p", later=1)[::4], q_draft)
size = sum(W.size + b.size for W, b in heads)
print(f"draft-1.6m: {whole:.3f} with {draft.num_parameters / 1e6:.1f}M parameters")
print(f"our head:   {worth['state']:.3f}; three of them have {size / 1e6:.1f}M")
better = "draft model" if whole > worth["state"] else "head"
print(f"At position 1 the {better} is accepted more often.")

# %% [markdown]
# A fair comparison needs equal training, and it counts the cost. The draft model runs one pass for each token. Our three heads together take
# one small product. `python -m minispec.lab.training head` trains heads for longer and prints what they reach (`docs/train.md`).
#
# ## 14.5 · In the engine
#
# *4 minutes · ●○○*
#
# **Why.** A head drafts like a draft model does. Save yours as minispec's training does. The folder names the target: another
# target refuses the head. Then decode with it.

# %%
folder = ready.save_medusa(heads, target)
some = prompts[::3]  # of texts that were held out
options = {"target": target, "temperature": 1.0, "max_tokens": 40}
made = [
    minispec.generate(
        prompt, draft=f"medusa:head={folder}", gamma=POSITIONS, seed=i, **options
    )
    for i, prompt in enumerate(some)
]
steps = sum(one.metrics.num_steps for one in made)
tau = sum(one.metrics.num_decode_tokens for one in made) / steps
print(f"{tau:.2f} tokens per step over {steps} steps; the text is {made[0].guarantee}")
predicted = 1 + float(np.cumprod(after).sum())
print(f"predicted from the acceptances of 14.3: {predicted:.2f}")
assert abs(tau - predicted) < 0.4

# %% [markdown]
# **Look.** The prediction multiplies the acceptances of the positions, as if they were independent. It also ignores texts that end
# within a step. It comes close all the same.
#
# At temperature 0 the text is the target's own, token by token, however good or bad the head is:

# %%
greedy = {"target": target, "temperature": 0.0, "max_tokens": 32}
for prompt in some[:3]:
    one = minispec.generate(prompt, draft=f"medusa:head={folder}", **greedy)
    assert one.token_ids == minispec.generate(prompt, draft=None, **greedy).token_ids
    print(repr(one.text[:60]))

# %% [markdown]
# ## What you can do now
#
# You can say what a hidden state is and which token a head guesses from it. You have derived a gradient, tested
# it, and trained heads that draft for a real engine. You can also say what they miss: the token that was just drawn. In lesson 15 the
# head reads it.
#
# In the code base: `minispec/engine/model/cache.py` keeps the states, `minispec/engine/drafters/heads/` has a file for each kind of head, and
# `minispec/lab/training/head_stage.py` trains them, with PyTorch.

# %% [markdown]
# ## References
#
# - Cai et al., *Medusa: Simple LLM Inference Acceleration Framework with Multiple Decoding Heads*, ICML 2024 (arXiv 2401.10774).
# - Kingma and Ba, *Adam: A Method for Stochastic Optimization*, ICLR 2015.

# %%
lesson.progress()
