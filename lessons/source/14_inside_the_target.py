# %% [markdown]
# # 14 · Looking inside the target
#
# A draft model reads the text and guesses. The target has read the same text with far more layers, and what they found out is
# at hand when the next draft is due, if only somebody keeps it. The drafts that production uses look there: *heads*, small layers
# on the target's hidden states. In this lesson you train one by hand, in less than a minute; you measure what it is worth to look
# inside, and what is still missing; and you let it grow trees.
#
# About 50 minutes. You need lessons 5, 6 and 9.

# %% [markdown]
# **If you only have ten minutes:** run 14.1 and 14.2 with ours in place of yours, train in 14.3, and read the picture in 14.4.

# %%
import json
import os
import tempfile
import time
from dataclasses import asdict
from pathlib import Path

for library in ("OPENBLAS", "MKL"):  # one thread for NumPy: on a busy machine several
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")  # wait for one another

import numpy as np
from safetensors.numpy import save_file

import minispec
from minispec.course.teaching import begin
from minispec.engine.drafters.heads import HeadConfig, compute_fingerprint
from minispec.engine.laws import Enumerator
from minispec.engine.noise import Address, Noise
from minispec.errors import InvariantError
from minispec.lab.prompts import bundled_prompts
from minispec.lab.viz.plots.theory import laws_figure
from minispec.lab.viz.trees import draw_tree, find_longest

lesson = begin("14")
target = minispec.load_model("target-17m")
DEPTH, WIDTH = target.config.n_layer, target.config.n_embd
fetch, final = target.backend.fetch, target.weights.ln_f
weight, bias = fetch(final.weight), fetch(final.bias)  # of the final norm
output = fetch(  # the output matrix [V, C], which is the token table again
    target.backend.columns(target.weights.wte, np.arange(target.vocab_size))
)
print(f"{DEPTH} layers, C = {WIDTH}, output matrix {output.shape}")
lesson

# %% [markdown]
# ## 14.1 · What a hidden state is, and who keeps it
#
# *8 minutes · ●○○*
#
# **Why.** In lesson 1 a row of C numbers ran through the layers, and each layer added to it. After the last layer it is the *hidden
# state* of its token: normed and multiplied by the output matrix it gives the logits, thousands of numbers from a few hundred. The
# forward throws it away. Whoever wants to look inside asks for it to be kept.
#
# The right place is the KV cache. A state belongs to a token as its keys and values do: it is written by the same forward, it is set
# back by the same rollback, it moves where they move. So `keep_features([layer, …])` tells a cache to keep what leaves these
# layers (counted from 1), and `read_features` reads it. As long as nobody asks, nothing is kept.

# %%
tokens = target.tokenizer.encode("Once upon a time there was a little fox")
session = target.session()
session.cache.keep_features([DEPTH])
logits = session.score(tokens)
states = session.cache.read_features([DEPTH], 0, session.length)
print(f"{len(tokens)} tokens, states {states.shape}, logits {logits.shape}")

# %% [markdown]
# **Predict.** A round has ended, and the text has 20 tokens: the prompt, the drafts that were accepted, and the token that the
# target drew last. For how many of them does the cache hold a state?

# %%
lesson.predict("states", 19)

# %% [markdown]
# And after a rollback? As in lesson 2, nothing is erased, only the length goes back. What lies beyond it is still there, and
# is not to be read:

# %%
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
# Write what every head begins with: the state of the last token that was fed, behind the final norm. The norm is that of lesson 1.


# %%
def layer_norm(x, weight, bias, epsilon=1e-5):
    """Norm the last axis, as in lesson 1."""
    x = x - x.mean(axis=-1, keepdims=True)
    return x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + epsilon) * weight + bias


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
# The state holds all that the target says of the next token. It may know something of the tokens after that, too: on this every head
# bets.
#
# ## 14.2 · Which place a head speaks of
#
# *6 minutes · ●●○*
#
# **Why.** A head learns from examples: a state, and what the target said later. The target writes them itself, at temperature
# 1, since its own text is what a draft meets. (With a batch, as in lesson 11; no draft, though one would change nothing but the time.)
# A third of the texts is held out: on these we measure.

# %%
PLACES = 3


def softmax(logits):
    """Return the laws of rows of logits."""
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


prompts = [prompt.text for prompt in bundled_prompts()]
started = time.perf_counter()
texts = []
for made, prompt in zip(
    minispec.generate_many(
        prompts, target=target, draft=None, temperature=1.0, max_tokens=64, seed=14
    ),
    prompts,
    strict=True,
):
    before = target.tokenizer.encode(prompt)
    tokens = [*before, *made.token_ids]
    session = target.session()
    session.cache.keep_features([2, DEPTH])
    logits = session.score(tokens)
    low, top = (
        session.cache.read_features([layer], 0, len(tokens)) for layer in (2, DEPTH)
    )
    texts.append(
        {
            "tokens": tokens,
            "first": len(before) - 1,  # states of the prompt but its last are no use
            "embedding": output[tokens],
            "low": layer_norm(low, 1.0, 0.0),
            "state": layer_norm(top, weight, bias),
            "p": softmax(logits),  # row j: what follows token j
        }
    )
held_out, ours = texts[::3], [text for i, text in enumerate(texts) if i % 3]
print(f"{time.perf_counter() - started:.0f} s for {len(texts)} texts")


def gather(texts, what: str, later: int = 0) -> np.ndarray:
    """Return rows of all texts: of each token that was fed, or of `later` tokens on."""
    return np.concatenate(
        [
            text[what][text["first"] + later : len(text["tokens"]) - PLACES + later]
            for text in texts
        ]
    )


print(
    f"{len(gather(ours, 'state'))} states to learn from, "
    f"{len(gather(held_out, 'state'))} held out"
)

# %% [markdown]
# How good is a guess? A token drawn from q is accepted with probability Σ min(p, q) (lesson 5), on average over the rows:


# %%
def acceptance(p: np.ndarray, q: np.ndarray) -> float:
    """Return how often a token drawn from q is accepted: the mean over rows [R, V]."""
    # BEGIN SOLUTION
    return float(np.minimum(p, q).sum(axis=1).mean())
    # END SOLUTION


# %%
lesson.check("acceptance", acceptance)

# %% [markdown]
# The head, after Medusa (2024), is one matrix W, a bias, and the target's own output matrix: from a state h it guesses
#
# $$h + \mathrm{gelu}(h W + b) \qquad\text{and from that}\qquad q = \mathrm{softmax}\big(\text{output} \cdot (\ldots)\big)$$
#
# with its own W and b for each place. Training begins at W = 0 and b = 0.
#
# **Predict.** What is q of such a head, before any training? `"uniform"`, the law of the `"pending"` token, or the law of the token
# after it, `"place 1"`?

# %%
lesson.predict("start", "pending")

# %% [markdown]
# **Wrong first.** The state of token j says what follows token j. So let the first head learn that. How good is it before we begin?

# %%
acceptance = lesson.working("acceptance", acceptance)
h_held = gather(held_out, "state")
untrained = softmax(h_held @ output.T)
wrong_place = acceptance(gather(held_out, "p"), untrained)
print(f"what follows the token: accepted with {wrong_place:.3f}")
assert wrong_place > 0.99

# %% [markdown]
# Accepted always, without training! Too good to be true: that *is* the target. The token it speaks of has been drawn from this very
# state already and is pending. In the loop a head that learned this would repeat the pending token's law, one place too late. Mended:
# place k is what follows token j + k, with k from 1.

# %%
right_place = acceptance(gather(held_out, "p", later=1), untrained)
print(f"the same guess at place 1: accepted with {right_place:.3f}")
assert right_place < wrong_place - 0.3

# %% [markdown]
# ## 14.3 · A head, trained by hand
#
# *12 minutes · ●●●*
#
# **Why.** A draft is good if q is close to p, so make the cross-entropy small, the mean over the rows of
# $L = -\sum_x p(x) \log q(x)$. Write the head first. What it reads (`seen`) and what it adds to (`state`) are separate,
# because in 14.4 it will read other things; a Medusa head reads the state.


# %%
def gelu(x):
    """Return GPT-2's gelu."""
    return 0.5 * x * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x**3)))


def gelu_slope(x):
    """Return the derivative of gelu."""
    t = np.tanh(0.7978845608 * (x + 0.044715 * x**3))
    return 0.5 * (1 + t) + 0.3989422804 * x * (1 - t * t) * (1 + 0.134145 * x**2)


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
# A formula for a slope can be tested without knowing it: move one weight a little, and see how much the loss moves.

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
# Training is that slope, many times. `train` goes over the rows three times, 64 at a time, in an order drawn anew, and steps with Adam
# (2015), which divides each slope by its usual size.


# %%
def train(state, seen, p, W=None, b=None, passes=3, rate=0.005):
    """Return W and b of a head that learns from rows; it begins at 0 or as given."""
    rng, size = np.random.default_rng(14), 64
    W = np.zeros((seen.shape[1], WIDTH), np.float32) if W is None else W
    b = np.zeros(WIDTH, np.float32) if b is None else b
    order = np.concatenate([rng.permutation(len(p)) for _ in range(passes)])
    batches = [order[i : i + size] for i in range(0, len(order), size)]
    mean, square = [0.0, 0.0], [0.0, 0.0]
    for t, rows in enumerate(batches, 1):
        slopes = gradient(state[rows], seen[rows], W, b, output, p[rows])
        steps = []
        for i, slope in enumerate(slopes):
            mean[i] = 0.9 * mean[i] + 0.1 * slope
            square[i] = 0.99 * square[i] + 0.01 * slope**2
            size_of = np.sqrt(square[i] / (1 - 0.99**t)) + 1e-8
            steps.append(mean[i] / (1 - 0.9**t) / size_of)
        fall = rate * (1 - t / (len(batches) + 1))  # smaller and smaller steps
        W, b = W - fall * steps[0], b - fall * steps[1]
    return W.astype(np.float32), b.astype(np.float32)


h = gather(ours, "state")
started = time.perf_counter()
heads = [train(h, h, gather(ours, "p", k)) for k in range(1, PLACES + 1)]
print(f"{PLACES} heads in {time.perf_counter() - started:.0f} s")


def accepted_at(k: int, state, seen, head) -> float:
    """Return the acceptance at place k over the texts that were held out."""
    q = softmax(guess_logits(state, seen, *head, output))
    return acceptance(gather(held_out, "p", k), q)


nothing = (np.zeros((WIDTH, WIDTH), np.float32), np.zeros(WIDTH, np.float32))
before, after = (
    [accepted_at(k + 1, h_held, h_held, head) for k, head in enumerate(each)]
    for each in ([nothing] * PLACES, heads)
)
for k in range(PLACES):
    print(f"place {k + 1}: accepted {before[k]:.3f} untrained, {after[k]:.3f} trained")
laws_figure(
    {"untrained": np.array(before), "trained": np.array(after)},
    [f"place {k + 1}" for k in range(PLACES)],
    "Σ min(p, q)",
)

# %% [markdown]
# **Look.** Every place gains, on texts that the head has never seen, from about a thousand states and seconds of one core; the
# first place is guessed better than the last, for the state knows less of what is further away.

# %%
assert all(b < a for b, a in zip(before, after, strict=True))
assert after[0] > after[-1]

# %% [markdown]
# ## 14.4 · What it is worth to look inside
#
# *6 minutes · ●●○*
#
# **Why.** Is it the state that helps, or would any head have learned as much? Let a second head of the same size learn the same, from
# the *text* alone: it reads the embedding of the last token fed, where the first reads that token's state.
#
# **Predict.** Which of the two is accepted more at place 1: the one that reads the `"state"`, the one that reads the
# `"embedding"`, or is it the `"same"`?

# %%
lesson.predict("worth", "state")

# %%
p_ours = gather(ours, "p", 1)
embedding, pending = gather(ours, "embedding"), gather(ours, "embedding", 1)
both = np.concatenate([h, pending], axis=1)
low = gather(ours, "low")
seen_held = {
    "embedding": gather(held_out, "embedding"),
    "pending": gather(held_out, "embedding", 1),
    "layer 2": gather(held_out, "low"),
    "state": h_held,
}
seen_held["both"] = np.concatenate([h_held, seen_held["pending"]], axis=1)
both_head = train(h, both, p_ours)
found = {
    "embedding": (embedding, train(embedding, embedding, p_ours)),
    "pending": (pending, train(pending, pending, p_ours)),
    "layer 2": (low, train(low, low, p_ours)),
    "state": (h, heads[0]),
    "both": (h, both_head),
}
worth = {
    name: accepted_at(
        1, h_held if name == "both" else seen_held[name], seen_held[name], head
    )
    for name, (_, head) in found.items()
}
laws_figure({"place 1": np.array(list(worth.values()))}, list(worth), "Σ min(p, q)")

# %% [markdown]
# - *embedding*: the last token fed, and no more
# - *pending*: the embedding of the token after it, which the target has drawn already: text alone, but later text
# - *layer 2*: the residual stream low in the target; an ablation of *where* one looks
# - *state*: the Medusa head
# - *both*: the state, and the pending token beside it
#
# **Look.** The state beats the embedding: looking inside is worth something. And here is what Medusa cannot know: which token was
# drawn from its state. A head that reads both beats each alone. That is the idea of EAGLE.

# %%
for name, accepted in worth.items():
    print(f"{name:10} {accepted:.3f}")
assert worth["state"] > worth["embedding"]
assert worth["state"] > worth["layer 2"]
assert worth["both"] > max(worth["state"], worth["pending"])

# %% [markdown]
# To be fair to drafts that read only the text: `draft-1.6m` is one, with layers of its own, trained on millions of tokens. At place
# 1 it has read everything up to the pending token.

# %%
draft = minispec.load_model("draft-1.6m")
q_draft = np.concatenate(
    [
        softmax(draft.session().score(text["tokens"]))[
            text["first"] + 1 : len(text["tokens"]) - PLACES + 1
        ]
        for text in held_out
    ]
)
whole = acceptance(gather(held_out, "p", 1), q_draft)
size = sum(W.size + b.size for W, b in heads)
print(f"draft-1.6m: {whole:.3f} with {draft.num_parameters / 1e6:.1f}M parameters")
print(f"our heads:  {worth['state']:.3f} with {size / 1e6:.1f}M, three places at once")
print(
    "A model of its own, trained at length, beats a head of half a minute."
    if whole > worth["state"]
    else "Even after half a minute, the head beats a model of its own."
)

# %% [markdown]
# A fair comparison needs equal training, and counts the cost: all our places together take one small product, and no layer.
# `python -m minispec.lab.training head` trains heads for longer and says what they reach (`docs/train.md`).
#
# ## 14.5 · EAGLE feeds itself; a block asks once
#
# *6 minutes · ●●○*
#
# **Why.** For place 2 a head would like the state of the pending token, and the target has not computed it. EAGLE feeds the head's
# own output in its place, an estimate of that state: the same output matrix reads both.
#
# ```text
#   place 1:   state h₃ of the target,  token 4  ──►  output o₄  ──►  q of token 5, draw it
#   place 2:   o₄ instead of h₄,        token 5  ──►  output o₅  ──►  q of token 6, draw it
#   place 3:   o₅ instead of h₅,        token 6  ──►  …
#
#   trained on true states only:    h₃ ──► o₄          o₄ ──► ?      never seen in training
#   training-time test (EAGLE-3):   h₃ ──► o₄ ──► o₅   o₄ was an example, too
# ```
#
# That is a loop, and a mistake in o₄ is read again at place 2. *Training-time test* lets the head meet in training what it will
# meet in the draft: its own outputs. Try it. Both heads go on from `both_head` and take equally many steps.


# %%
def step_on(state, token, head):
    """Return what the head makes of a state and the token after it: the next state."""
    return state + gelu(np.concatenate([state, token], axis=1) @ head[0] + head[1])


def place_2(head) -> float:
    """Return the acceptance at place 2, fed with the head's own output of place 1."""
    own = step_on(h_held, seen_held["pending"], head)
    seen = np.concatenate([own, gather(held_out, "embedding", 2)], axis=1)
    return accepted_at(2, own, seen, head)


own = step_on(h, pending, both_head)
seen_own = np.concatenate([own, gather(ours, "embedding", 2)], axis=1)
more = {"rate": 0.003, "W": both_head[0], "b": both_head[1]}
true_only = train(h, both, p_ours, passes=4, **more)
tested = train(
    np.concatenate([h, own]),
    np.concatenate([both, seen_own]),
    np.concatenate([p_ours, gather(ours, "p", 2)]),
    passes=2,
    **more,
)
for name, head in {"true states only": true_only, "own outputs too": tested}.items():
    place_1 = accepted_at(1, h_held, seen_held["both"], head)
    print(f"{name:17} place 1 {place_1:.3f}, place 2 {place_2(head):.3f}")
gain = place_2(tested) - place_2(true_only)
print(
    "no difference at place 2"
    if abs(gain) < 0.01
    else f"training-time test {'gains' if gain > 0 else 'loses'} {abs(gain):.3f} "
    "at place 2"
)

# %% [markdown]
# The price of the loop is one small pass for each place. A *block* (DFlash, 2026) asks once. It puts placeholders where the drafts
# will be, lets them see the states of the text and one another, and reads all laws from one pass:
#
# ```text
#                 states of the text     the block
#                 h₁  h₂  h₃             4   ▢   ▢
#     token 4     ■   ■   ■              ■   ■   ■   ──►  q of place 1
#     ▢           ■   ■   ■              ■   ■   ■   ──►  q of place 2
#     ▢           ■   ■   ■              ■   ■   ■   ──►  q of place 3
# ```
#
# minispec's `block` gives every row the pending token and the last state, where DFlash gives only the first row the token: a head
# so small, and trained so briefly, hardly learns to gather both by attention.
#
# No row hides another, and that cheats nobody: no drawn token is among them. As with our heads, place 2 does not know what was drawn
# at place 1. That costs acceptance and not exactness: each q is what its token is drawn from, and rejection sampling needs no more.
#
# ## 14.6 · A tree that grows where it pays
#
# *8 minutes · ●●○*
#
# **Why.** Our heads are right one time in a few. So guess several times for each place, as in lesson 9, where the guesses are
# likeliest to be of use: a node is accepted if its whole path is, and the draft's own estimate of that is the *product* of the
# probabilities along the path (EAGLE-2, 2024). Keep the N paths of largest value. A child's value is at most its parent's, so what
# is kept is a tree.


# %%
def keep_best(rows: np.ndarray, num_nodes: int) -> list[tuple[int, ...]]:
    """Return the paths of largest value, the largest first: tuples of tokens.

    rows: [K, V], row k is the draft's law of place k, whatever was drawn before (as
        our heads' are).
    A path's value is the product of its tokens' probabilities, none of which is 0. Of
        equals, the shorter path comes first.

    Example: rows [[0.6, 0.4], [0.9, 0.1]], 3 nodes: [(0,), (0, 0), (1,)]
    """
    # BEGIN SOLUTION
    best, level = [], [((), 1.0)]
    for row in rows:
        likeliest = np.argsort(-row, kind="stable")[:num_nodes]
        level = [
            ((*path, int(x)), value * row[x])
            for path, value in level
            for x in likeliest
        ]
        best = sorted(best + level, key=lambda node: -node[1])[:num_nodes]
        level = [node for node in level if node in best]
    return [path for path, _ in best]
    # END SOLUTION


# %%
lesson.check("keep_best", keep_best)

# %%
keep_best = lesson.working("keep_best", keep_best)
decode = target.tokenizer.decode
ends = [  # the texts up to the pending token, a text for each state
    text["tokens"][: j + 2]
    for text in held_out
    for j in range(text["first"], len(text["tokens"]) - PLACES)
]
laws = [softmax(guess_logits(h_held, h_held, *head, output)) for head in heads]
trees = {}
for name, at in {
    "sure": laws[0].max(axis=1).argmax(),
    "unsure": laws[0].max(axis=1).argmin(),
}.items():
    rows = np.array([law[at] for law in laws])
    trees[name] = keep_best(rows, 8)
    print(f"where the heads are {name}, behind {decode(ends[at])[-40:]!r}")
    for path in sorted(trees[name]):  # a parent, then what hangs on it
        value = np.prod([row[x] for row, x in zip(rows, path, strict=False)])
        print(f"  {value:.4f} {'      ' * len(path)}{decode([path[-1]])!r}")

# %% [markdown]
# **Look.** Where the heads are sure the tree goes deep, where they are not it spreads. And the parent of every kept node is kept.

# %%
depths = {name: np.mean([len(path) for path in kept]) for name, kept in trees.items()}
assert depths["sure"] > depths["unsure"]
for kept in trees.values():
    assert all(path[:-1] in kept for path in kept if len(path) > 1)

# %% [markdown]
# Now the trap. At temperature 1 the guesses are *drawn*. Someone draws two, and, to save a row, drops the one that the draft
# holds less likely. What is left is judged against its own q, as always.
#
# **Predict.** Is the law of the text still `"right"`, or is it `"wrong"`?

# %%
lesson.predict("pruned", "wrong")

# %%
p, q = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.3, 0.5])


def draw_two(noise: Noise) -> list[tuple[int, np.ndarray]]:
    """Draw two guesses without replacement, each with the row it was drawn from."""
    first = noise.categorical(q, Address("draft", 0))
    left = np.where(np.arange(3) == first, 0, q)
    left /= left.sum()
    return [(first, q), (noise.categorical(left, Address("draft", 1)), left)]


def judge(noise: Noise, guesses) -> int:
    """Judge guesses in turn, each against what the target still wants (lesson 9)."""
    wanted = p
    for i, (x, row) in enumerate(guesses):
        if noise.bernoulli(min(1.0, wanted[x] / row[x]), Address("accept", i)):
            return x
        wanted = np.maximum(wanted - row, 0)
        wanted = wanted / wanted.sum()
    return noise.categorical(wanted, Address("next", 0))


def drop_the_unlikely(noise: Noise) -> int:
    """Keep the likelier of two guesses: chosen by what was drawn."""
    guesses = draw_two(noise)
    return judge(noise, [max(guesses, key=lambda guess: q[guess[0]])])


def drop_the_second(noise: Noise) -> int:
    """Keep the guess of rank 0: chosen before anything was drawn."""
    return judge(noise, draw_two(noise)[:1])


laws, distances = {"target p": p}, {}
for name, rule in {
    "dropped by the draw": drop_the_unlikely,
    "dropped by rank": drop_the_second,
    "both kept": lambda noise: judge(noise, draw_two(noise)),
}.items():
    law = Enumerator(rule).law()
    laws[name] = np.array([law.get(x, 0.0) for x in range(3)])
    distances[name] = abs(laws[name] - p).sum() / 2
    print(f"{name:20} total variation from the target {distances[name]:.1e}")
laws_figure(laws, ["cat", "dog", "fox"])

# %%
assert distances["dropped by the draw"] > 0.01
assert max(distances["dropped by rank"], distances["both kept"]) < 1e-12

# %% [markdown]
# A tree may depend on anything but on how its own tokens were drawn. So minispec's dynamic tree decides by *rank*: the b-th child of a
# node is worth the b-th largest probability of the row, known before the draw (`minispec/engine/drafters/trees/dynamic.py`).
#
# ## 14.7 · In the engine
#
# *4 minutes · ●○○*
#
# **Why.** Your head is a draft like any other. Save it as training does, with the fingerprint of the target it belongs to (with
# another target it would be refused), and decode with it: as a chain of three, and as a dynamic tree of twelve nodes.

# %%
folder = Path(tempfile.mkdtemp()) / "my-medusa"
folder.mkdir()
config = HeadConfig(
    "medusa", target.name, compute_fingerprint(target), layers=(DEPTH,), length=PLACES
)
(folder / "config.json").write_text(json.dumps(asdict(config)))
save_file(
    {
        "guess.weight": np.concatenate([W for W, _ in heads], axis=1),
        "guess.bias": np.concatenate([b for _, b in heads]),
    },
    folder / "model.safetensors",
)
drafts = {
    "chain": {"draft": f"medusa:head={folder}", "gamma": PLACES},
    "tree": {
        "draft": f"tree:draft=medusa:head={folder},shape=dynamic,nodes=13",
        "gamma": PLACES,
        "verify": "tree",
    },
}
some = prompts[::3]  # of texts that were held out
lengths = {}
for name, options in drafts.items():
    made = [
        minispec.generate(
            prompt, target=target, temperature=1.0, max_tokens=40, seed=i, **options
        )
        for i, prompt in enumerate(some)
    ]
    steps = sum(one.metrics.num_steps for one in made)
    lengths[name] = sum(one.metrics.num_decode_tokens for one in made) / steps
    print(
        f"{name}: {lengths[name]:.2f} tokens per round over {steps} rounds, "
        f"{made[0].guarantee}"
    )
predicted = 1 + float(np.cumprod(after).sum())
print(f"the chain, predicted from the acceptances of 14.3: {predicted:.2f}")

# %% [markdown]
# **Look.** The prediction multiplies acceptances of places as if they had nothing to do with one another, and counts no text that ends
# within a round; it comes close all the same. The tree gets further with the same head. It pays for that with rows: thirteen in each
# pass instead of four, and lesson 6 says when they are cheap.

# %%
assert abs(lengths["chain"] - predicted) < 0.4
assert lengths["tree"] > lengths["chain"]

# %% [markdown]
# And at temperature 0 the text is the target's own, token by token, however good or bad the head is. Of all rounds of three texts,
# the one in which most guesses were accepted; what was rejected is struck through:

# %%
tree = drafts["tree"] | {"draft": drafts["tree"]["draft"] + ",siblings=likeliest"}
options = {"target": target, "temperature": 0.0, "max_tokens": 32}
events = []
for prompt in some[:3]:
    heard = list(minispec.stream(prompt, **tree, **options))
    plain = minispec.generate(prompt, draft=None, **options)
    assert heard[-1].generation.token_ids == plain.token_ids
    events += heard
draw_tree(*find_longest(events), decode)

# %% [markdown]
# In the code base: `minispec/engine/model/cache.py` keeps the states, `minispec/engine/drafters/heads/` has a file for each of medusa, eagle and
# block with its formula, `minispec/engine/drafters/trees/` the trees, `minispec/lab/viz/trees.py` draws them (also `minispec generate
# --show-drafts`), and `minispec/lab/training/head_stage.py` trains all three heads, with PyTorch.
#
# You have reached the end. Go on with the assignments, with the code (`docs/reading.md` is a path of thirteen stops), or with a
# head that is trained for longer: `python -m minispec.lab.training head` (`docs/train.md`).

# %% [markdown]
# ## References
#
# - Cai et al., *Medusa: Simple LLM Inference Acceleration Framework with Multiple Decoding Heads*, ICML 2024 (arXiv 2401.10774).
# - Li et al., *EAGLE-2: Faster Inference of Language Models with Dynamic Draft Trees*, EMNLP 2024 (arXiv 2406.16858).
# - Li et al., *EAGLE-3: Scaling up Inference Acceleration of Large Language Models via Training-Time Test*, 2025 (arXiv 2503.01840).
# - Chen et al., *DFlash: Block Diffusion for Flash Speculative Decoding*, 2026 (arXiv 2602.06036).

# %%
lesson.progress()
