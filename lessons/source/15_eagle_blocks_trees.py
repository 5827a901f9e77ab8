# %% [markdown]
# # 15 · EAGLE, blocks and trees
#
# **Question.** The heads of lesson 14 guess three tokens at once, but none of them knows what the others guessed. What is gained if
# each guess reads the one before it? And if a head is unsure, why should it guess only once?
#
# The picture below is one step of a head that was trained for longer and comes with minispec. At the end of this lesson you
# can say where every branch comes from, and why rejecting most of them does not change the text. On the way there is a trap: a
# sensible way of saving work that changes the distribution.
#
# About 34 minutes. You need lessons 9 and 14.

# %%
import os

for library in ("OPENBLAS", "MKL"):  # one thread for NumPy: on a busy machine several
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")  # wait for one another

import numpy as np

import minispec
from minispec.course.teaching import begin
from minispec.course.teaching import heads as ready
from minispec.lab.prompts import bundled_prompts
from minispec.lab.viz.plots.theory import laws_figure
from minispec.lab.viz.trees import draw_tree, find_longest

lesson = begin("15")
target = minispec.load_model("target-17m")
decode = target.tokenizer.decode
lesson

# %%
prompts = [prompt.text for prompt in bundled_prompts()]
TREE = "tree:draft=eagle,shape=dynamic,nodes=13,siblings=likeliest"
events = list(
    minispec.stream(
        prompts[0],
        target=target,
        draft=TREE,
        verify="tree",
        gamma=3,
        temperature=0.0,
        max_tokens=32,
    )
)
draw_tree(*find_longest(events), decode)  # of all steps the one with the longest path

# %% [markdown]
# **Look.** Tokens below one another are guesses for the same position. The target read all of them in one pass and accepted the path
# with the ticks. What it rejected is struck through.
#
# **If you only have ten minutes:** read 15.1 and the picture of the block in 15.2, and do 15.4, the trap.
#
# ## 15.1 · EAGLE feeds itself
#
# *11 minutes · ●●○*
#
# **Why.** Lesson 14 ended with a head that reads two things: the state h of the last token fed, and the embedding of the pending
# token, which was drawn from h. Together they told it more about position 1 than each alone.
#
# For position 2 that head would like the *state of the pending token*. The target has not computed it yet. EAGLE takes
# the head's own output instead. The same output matrix reads both, so the output is an estimate of that state.
#
# ```text
#   position 1:   state h₃ of the target,  token 4  ──►  output o₄  ──►  q of token 5, draw it
#   position 2:   o₄ instead of h₄,        token 5  ──►  output o₅  ──►  q of token 6, draw it
#   position 3:   o₅ instead of h₅,        token 6  ──►  …
# ```
#
# `gelu` is again the function of lesson 1.

# %%
gelu, softmax = ready.gelu, ready.softmax


# %%
def feed_itself(
    state: np.ndarray, tokens: np.ndarray, W: np.ndarray, b: np.ndarray
) -> np.ndarray:
    """Return the head's outputs, shape [K, C], one for each token.

    state: shape [C], of the last token that the target has fed.
    tokens: embeddings, shape [K, C]: the pending token, then the drafts in order.
    W: [2C, C], b: [C]. An output is s + gelu([s, token] W + b), where s is the state
        for the first token, and the output before for each other token.

    Example: if W and b are 0, every output is `state`, because gelu(0) is 0
    """
    # BEGIN SOLUTION
    outputs = []
    for token in tokens:
        state = state + gelu(np.concatenate([state, token]) @ W + b)
        outputs.append(state)
    return np.array(outputs)
    # END SOLUTION


# %%
lesson.check("feed_itself", feed_itself)

# %% [markdown]
# A loop like this has a weakness: a mistake in o₄ is read again at position 2. In lesson 14 a head learned from true states only, and
# it never met an output of its own. *Training-time test* (EAGLE-3, 2025) lets it meet them:
#
# ```text
#   trained on true states only:    h₃ ──► o₄          o₄ ──► ?      never seen in training
#   training-time test:             h₃ ──► o₄ ──► o₅   o₄ was an example, too
# ```
#
# Try it. First train a head as in lesson 14, on texts that the target writes:

# %%
feed_itself = lesson.working("feed_itself", feed_itself)
ours, held_out = ready.collect(target, prompts)
output, _, _ = ready.read_weights(target)


def with_token(states, examples, later: int):
    """Put the embedding of the token `later` positions on next to each state."""
    return np.concatenate([states, examples.rows("embedding", later=later)], axis=1)


def own_outputs(examples, head):
    """Return what the head makes of each state and the pending token."""
    pairs = zip(
        examples.rows("state"), examples.rows("embedding", later=1), strict=True
    )
    return np.array(
        [feed_itself(state, token[None], *head)[0] for state, token in pairs]
    )


h, p_1, p_2 = ours.rows("state"), ours.rows("p", later=1), ours.rows("p", later=2)
head = ready.train(h, with_token(h, ours, 1), p_1, output)
own = own_outputs(ours, head)
print(f"{len(h)} examples")

# %% [markdown]
# Then let two copies go on from there, for equally many steps. One sees true states only. For the other, half of the examples are
# its own outputs, with the distribution of position 2 as the aim:

# %%
more = {"start": head, "rate": 0.003}
true_only = ready.train(h, with_token(h, ours, 1), p_1, output, passes=4, **more)

# %%
tested = ready.train(
    np.concatenate([h, own]),
    np.concatenate([with_token(h, ours, 1), with_token(own, ours, 2)]),
    np.concatenate([p_1, p_2]),
    output,
    passes=2,
    **more,
)


# %%
def accepted_at(k: int, states, head) -> float:
    """Return the acceptance at position k over the texts that were held out."""
    seen = with_token(states, held_out, k)
    q = softmax(ready.guess_logits(states, seen, *head, output))
    return float(np.minimum(held_out.rows("p", later=k), q).sum(axis=1).mean())


found = {
    name: [
        accepted_at(1, held_out.rows("state"), each),
        accepted_at(2, own_outputs(held_out, each), each),
    ]
    for name, each in {"true states only": true_only, "own outputs too": tested}.items()
}
laws_figure(
    {name: np.array(each) for name, each in found.items()},
    ["position 1", "position 2, fed with its own output"],
    "Σ min(p, q)",
)

# %% [markdown]
# **Look.** Compare the two bars at position 2. The cell below puts the difference into words, for your run:

# %%
gain = found["own outputs too"][1] - found["true states only"][1]
word = "gains" if gain > 0 else "loses"
print(f"at position 2, training-time test {word} {abs(gain):.3f}")

# %% [markdown]
# ## 15.2 · A block asks once
#
# *4 minutes · ●○○*
#
# **Why.** EAGLE pays for its loop: one small pass for each position. A *block* (DFlash, 2026) asks once. It puts placeholders where
# the drafts will be. They see the states of the text and one another, and one pass gives all distributions:
#
# ```text
#                 states of the text     the block
#                 h₁  h₂  h₃             4   ▢   ▢
#     token 4     ■   ■   ■              ■   ■   ■   ──►  q of position 1
#     ▢           ■   ■   ■              ■   ■   ■   ──►  q of position 2
#     ▢           ■   ■   ■              ■   ■   ■   ──►  q of position 3
# ```
#
# **Predict.** A head drafts five tokens. How many passes of the head does that take with EAGLE, and how many with a block? Type a tuple.

# %%
lesson.predict("passes", (5, 1))

# %% [markdown]
# The rows of the block see one another. Is that cheating? No: none of them contains a drawn token. The price is another one. As with
# Medusa, position 2 does not know what was drawn at position 1. That costs acceptance, not correctness: each token is drawn
# from its q, and rejection sampling needs no more.
#
# Both kinds come with minispec, trained for longer than ours. Its block repairs some of that: once a token is drawn, the row behind it
# gets a bias that depends on this token alone (DSpark, 2026). That takes no pass, and q is again what the token is drawn from:

# %%
for name in ("eagle", "block"):
    made = [
        minispec.generate(
            prompt, target=target, draft=name, gamma=3, temperature=1.0, max_tokens=40
        )
        for prompt in prompts[::4]
    ]
    steps = sum(one.metrics.num_steps for one in made)
    tau = sum(one.metrics.num_decode_tokens for one in made) / steps
    print(f"{name}: {tau:.2f} tokens per step; the text is {made[0].guarantee}")

# %% [markdown]
# ## 15.3 · A tree that grows where it pays
#
# *8 minutes · ●●○*
#
# **Why.** If a head is unsure, let it guess several times for a position, as in lesson 9. But where? A guess is of use only if its whole
# path is accepted. The head's own estimate of that is the *product* of the probabilities along the path (EAGLE-2, 2024).
# So keep the N paths with the largest product. A child's product is at most its parent's, so these paths form a tree.


# %%
def keep_best(rows: np.ndarray, num_nodes: int) -> list[tuple[int, ...]]:
    """Return the paths of largest value, the largest first: tuples of tokens.

    rows: [K, V], row k is the head's distribution at position k, whatever was drawn
        before (as for Medusa heads).
    A path's value is the product of its tokens' probabilities. None of these is 0, and
        no two paths have the same value.

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

# %% [markdown]
# Two of the texts that were held out: one where Medusa heads are sure, one where they are not.

# %%
keep_best = lesson.working("keep_best", keep_best)
state = held_out.rows("state")
medusa = [ready.train(h, h, ours.rows("p", later=k), output) for k in (1, 2, 3)]
guesses = [softmax(ready.guess_logits(state, state, *one, output)) for one in medusa]

# %%
surest = guesses[0].max(axis=1)
trees = {}
for name, at in {"sure": surest.argmax(), "unsure": surest.argmin()}.items():
    rows = np.array([guess[at] for guess in guesses])
    trees[name] = keep_best(rows, 8)
    print(
        f"where the heads are {name}, after {decode(held_out.beginnings()[at])[-40:]!r}"
    )
    for path in sorted(trees[name]):  # a parent, then its children
        value = np.prod([row[x] for row, x in zip(rows, path, strict=False)])
        print(f"  {value:.4f} {'      ' * len(path)}{decode([path[-1]])!r}")

# %% [markdown]
# **Look.** Where the heads are sure, the tree goes deep. Where they are unsure, it gets wide. And the parent of every node in it is in it,
# too.

# %%
depths = {name: np.mean([len(path) for path in kept]) for name, kept in trees.items()}
assert depths["sure"] > depths["unsure"]
for kept in trees.values():
    assert all(path[:-1] in kept for path in kept if len(path) > 1)

# %% [markdown]
# ## 15.4 · The trap
#
# *7 minutes · ●●●*
#
# **Wrong first.** At temperature 1 the guesses are *drawn*. Somebody draws two. To save a row, the program drops the one that the
# head holds less likely. Then it judges the other against its own q, as always.
#
# **Predict.** Is the distribution of the text still `"right"`, or is it `"wrong"`?

# %%
lesson.predict("pruned", "wrong")

# %% [markdown]
# Enumerate it. The enumerator of lesson 8 runs a rule once for every possible outcome of its random draws. Here are the parts: draw two
# guesses without replacement, and judge them in turn, as in lesson 9.

# %%
from minispec.engine.laws import Enumerator
from minispec.engine.noise import Address, Noise

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


# %% [markdown]
# And three ways to use them:


# %%
def drop_the_unlikely(noise: Noise) -> int:
    """Keep the likelier of two guesses: chosen by what was drawn."""
    guesses = draw_two(noise)
    return judge(noise, [max(guesses, key=lambda guess: q[guess[0]])])


def drop_the_second(noise: Noise) -> int:
    """Keep the first guess: chosen before anything was drawn."""
    return judge(noise, draw_two(noise)[:1])


def keep_both(noise: Noise) -> int:
    """Judge both guesses."""
    return judge(noise, draw_two(noise))


rules = {
    "drop the unlikely": drop_the_unlikely,
    "drop the second": drop_the_second,
    "keep both": keep_both,
}
found = {}
for name, rule in rules.items():
    law = Enumerator(rule).law()
    found[name] = np.array([law.get(x, 0.0) for x in range(3)])
laws_figure({"target p": p, **found}, ["cat", "dog", "fox"])

# %%
distances = {name: abs(law - p).sum() / 2 for name, law in found.items()}
for name, distance in distances.items():
    print(f"{name:18} total variation from the target {distance:.1e}")
assert distances["drop the unlikely"] > 0.01
assert max(distances["drop the second"], distances["keep both"]) < 1e-12

# %% [markdown]
# The shape of a tree may depend on anything except on how its own tokens were drawn. So minispec's dynamic tree decides by *rank*: the
# b-th child of a node counts as the b-th largest probability of the row, which is known before the draw
# (`minispec/engine/drafters/trees/dynamic.py`).
#
# ## 15.5 · In the engine
#
# *4 minutes · ●○○*
#
# **Why.** Does a tree pay? Let the bundled EAGLE head draft a chain of three tokens, and a dynamic tree of twelve (`nodes` counts the
# root, too):

# %%
drafts = {
    "chain": {"draft": "eagle", "gamma": 3},
    "tree": {
        "draft": "tree:draft=eagle,shape=dynamic,nodes=13",
        "gamma": 3,
        "verify": "tree",
    },
}
lengths = {}
for name, options in drafts.items():
    made = [
        minispec.generate(
            prompt, target=target, temperature=1.0, max_tokens=40, seed=i, **options
        )
        for i, prompt in enumerate(prompts[::3])
    ]
    steps = sum(one.metrics.num_steps for one in made)
    lengths[name] = sum(one.metrics.num_decode_tokens for one in made) / steps
    print(f"{name}: {lengths[name]:.2f} tokens per step, {made[0].guarantee}")

# %% [markdown]
# **Look.** The tree gets further with the same head. It pays with rows: thirteen in each pass instead of four. Lesson 6 says when rows
# are cheap.

# %%
assert lengths["tree"] > lengths["chain"]
plain = minispec.generate(
    prompts[0], target=target, draft=None, temperature=0.0, max_tokens=32
)
assert (
    events[-1].generation.token_ids == plain.token_ids
)  # the run of the first picture
print("at temperature 0 the tree's text is the target's own:", repr(plain.text[:50]))

# %% [markdown]
# ## What you can do now
#
# You can read a paper on draft heads and ask the right questions: What does position 2 know? How many passes does a
# draft take? Which nodes does the tree keep, and were they chosen before or after the draw?
#
# In the code base: `minispec/engine/drafters/heads/` has the formulas of medusa, eagle and block; `minispec/engine/drafters/trees/` the trees;
# `minispec/lab/viz/trees.py` draws them (also `minispec generate --show-drafts`). One difference from DFlash: in minispec's `block`, every row
# gets the pending token and the last state, because so small a head hardly learns to gather them by attention.
#
# You have reached the end. Go on with the assignments, or with the code (`docs/reading.md` is a path of thirteen stops). Or train a head
# for longer: `python -m minispec.lab.training head` (`docs/train.md`).

# %% [markdown]
# ## References
#
# - Li et al., *EAGLE-2: Faster Inference of Language Models with Dynamic Draft Trees*, EMNLP 2024 (arXiv 2406.16858).
# - Li et al., *EAGLE-3: Scaling up Inference Acceleration of Large Language Models via Training-Time Test*, 2025 (arXiv 2503.01840).
# - Chen et al., *DFlash: Block Diffusion for Flash Speculative Decoding*, 2026 (arXiv 2602.06036).
# - DeepSeek, *DSpark: Confidence-Scheduled Speculative Decoding with Semi-Autoregressive Generation*, 2026 (arXiv 2607.05147).

# %%
lesson.progress()
