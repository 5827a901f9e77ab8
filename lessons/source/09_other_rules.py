# %% [markdown]
# # 9 · Other rules, and what "lossless" really promises
#
# **Question.** Rejection sampling accepts Σ min(p, q) of the draft tokens. Can another rule accept more? And if it does, what
# does it give up?
#
# Some rules accept less and promise more. Some accept more, because they look at the draft as a whole or at several drafts at
# once. Some accept more and give up the promise. In this lesson you write the heart of five rules, and you learn to read what a
# system promises.
#
# About 40 minutes. You need lessons 5 and 6.

# %%
import numpy as np

import minispec
from minispec.course.teaching import begin, explore
from minispec.lab.viz.plots.runs import attention_figure
from minispec.lab.viz.plots.theory import curves_figure, laws_figure, overlap_figure

lesson = begin("09")
lesson

# %%
p, q = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.3, 0.5])
overlap_figure(p, q, ["cat", "dog", "fox"])

# %% [markdown]
# **Look.** The target p and the draft q of lesson 5. Rejection sampling accepts the light blue part, 0.7. Each rule of this lesson starts from
# this picture.
#
# **If you only have ten minutes:** read the derivation in 9.2, look at the picture in 9.3, and learn the table of 9.6.

# %% [markdown]
# ## 9.1 · Match: the same text as without a draft
#
# *4 minutes · ●○○*
#
# **Why.** Let the target sample its own token, exactly as it would without a draft. If the draft token happens to be that one,
# accept it. Nothing is more obviously right: with the same seed the text *is* the text of plain sampling.
#
# **Predict.** A token is drawn from p = (0.5, 0.3, 0.2), and another, independently, from q = (0.2, 0.3, 0.5). How often do the two agree?

# %%
lesson.predict("match", 0.29)


# %%
def match_rate(p: np.ndarray, q: np.ndarray) -> float:
    """Return how often independent draws from p and from q agree."""
    # BEGIN SOLUTION
    return float((p * q).sum())
    # END SOLUTION


# %%
lesson.check("match_rate", match_rate)

# %%
match_rate = lesson.working("match_rate", match_rate)

# %% [markdown]
# Rejection sampling accepts 0.7 of these. The stronger promise has a high price if p and q spread over many tokens.
#
# ## 9.2 · The race: share the noise
#
# *8 minutes · ●●○*
#
# **Why.** Draw by a *race*: token x arrives at time $E_x / p_x$, with $E_x$ exponential; the first one wins. That has exactly the
# distribution p, and here is why. $E_x/p_x > t$ means $E_x > p_x t$, which has probability $e^{-p_x t}$; so token x arrives at rate $p_x$.
# Token x wins at time t if it arrives then, density $p_x e^{-p_x t}$, and no other has arrived before, $e^{-p_y t}$ each:
#
# $$P(x \text{ wins}) = \int_0^\infty p_x e^{-p_x t} \prod_{y \ne x} e^{-p_y t}\,dt
# = \int_0^\infty p_x\, e^{-t \sum_y p_y}\,dt = \frac{p_x}{\sum_y p_y} = p_x$$
#
# Now let draft and target run the race with the **same** noise $E$. They agree far more often, and the target's token is still
# what plain sampling would have given.
#
# **Wrong first.** "A likelier token should win, so *multiply* the noise by the probability, and take the largest":

# %%
rng = np.random.default_rng(0)
noise = rng.exponential(size=(20000, 3))
wrong = np.bincount((noise * p).argmax(axis=1), minlength=3) / len(noise)
print(f"largest E p: distribution {wrong} instead of {p}")
assert 0.03 < wrong[0] - p[0] < 0.05  # ten times the noise of 20000 draws

# %% [markdown]
# Close, and wrong. (With two tokens it happens to be right: a test with two tokens would have passed.) The derivation above
# mends it: divide, and take the smallest.


# %%
def race(probs: np.ndarray, exponentials: np.ndarray) -> int:
    """Return the token with the smallest exponentials / probs; a token of probability 0
    never arrives.
    """
    # BEGIN SOLUTION
    times = np.where(probs > 0, exponentials / np.where(probs > 0, probs, 1.0), np.inf)
    return int(np.argmin(times))
    # END SOLUTION


# %%
lesson.check("race", race)

# %%
race = lesson.working("race", race)
winners = np.array([(race(p, e), race(q, e)) for e in noise])
print(
    f"distribution of the winner {np.bincount(winners[:, 0]) / len(noise)} for p = {p}"
)
print(
    f"agree with shared noise {np.mean(winners[:, 0] == winners[:, 1]):.3f}; "
    f"independent {match_rate(p, q):.3f}; "
    f"rejection {np.minimum(p, q).sum():.3f}"
)

# %%
shared = np.mean(winners[:, 0] == winners[:, 1])
assert abs(np.bincount(winners[:, 0]) / len(noise) - p).max() < 0.02
assert match_rate(p, q) < shared < np.minimum(p, q).sum()

# %% [markdown]
# ## 9.3 · Block: judge the draft as a whole
#
# *10 minutes · ●●●*
#
# **Why.** Rejection sampling stops at the first rejection. Suppose that the target likes the first draft token a little less than the draft
# does, and the second one *much* more. The second cannot make up for the first. Block verification multiplies the ratios first, and clips the
# product at 1: $s_i = \min(1,\; s_{i-1}\, p(x_i)/q(x_i))$ with $s_0 = 1$. This is the chance that the first i draft tokens are accepted.


# %%
def survivals(
    p_of_drafts: list[float], q_of_drafts: list[float], block: bool
) -> list[float]:
    """Return the chance that each draft token is accepted, given it and those
    before it: with rejection sampling, or with block verification.

    p_of_drafts[i], q_of_drafts[i]: what target and draft gave the i-th draft token.
    Rejection: the product of min(1, p/q) up to i. Block: clip the running product, not
        the factors.

    Example: ratios 0.5 and 4: rejection [0.5, 0.5], block [0.5, 1.0]
    """
    # BEGIN SOLUTION
    found, s = [], 1.0
    for p, q in zip(p_of_drafts, q_of_drafts, strict=True):
        s = min(1.0, s * p / q) if block else s * min(1.0, p / q)
        found.append(s)
    return found
    # END SOLUTION


# %%
lesson.check("survivals", survivals)

# %%
survivals = lesson.working("survivals", survivals)


def compare(second: float):
    """Draw the survival of three drafts whose second ratio varies."""
    ps, qs = [0.3, 0.2 * second, 0.25], [0.5, 0.2, 0.5]
    return curves_figure(
        [1, 2, 3],
        {"rejection": survivals(ps, qs, False), "block": survivals(ps, qs, True)},
        f"draft token (the target likes the second one {second:g} times as much)",
        "chance to be accepted",
    )


explore(compare, second=[0.5, 1.0, 1.5, 2.5])

# %% [markdown]
# **Look.** If you see only one line, the two rules agree. With 1.5 and 2.5 the chance of the second token is *above* that of the first.
# Each point counts the draft tokens up to it only, and a second token that the target likes makes up for the first.

# %%
for second in (0.5, 1.0, 1.5, 2.5):
    ps, qs = [0.3, 0.2 * second, 0.25], [0.5, 0.2, 0.5]
    one, block = survivals(ps, qs, False), survivals(ps, qs, True)
    assert all(b >= r for b, r in zip(block, one, strict=True))
    assert (block[1] > block[0]) == (second > 1)

# %% [markdown]
# Block verification is never worse: on every path its chance is at least that of rejection sampling. It is also exact.
#
# **The proof.** After i accepted tokens, the target still wants $\max(s_i p - q, 0)$ of the next token; $p$ and $q$ are those after these i
# tokens. Call its sum $Z_i$. Block verification draws a yes or a no for every prefix, and accepts the longest prefix with a yes.
# Prefix i gets a yes with probability $h_i = Z_i / (Z_i + 1 - s_i)$, the whole draft with probability $s_\gamma$. Call K the number of
# accepted tokens.
#
# *Claim:* $P(K \ge i \mid x_1 \dots x_i) = s_i$. For $i = \gamma$ that is the last yes. From i + 1 back to i: the next draft token makes
# $K \ge i + 1$ with probability $\sum_x q(x) \min(1, s_i p(x)/q(x)) = \sum_x \min(s_i p(x), q(x)) = s_i - Z_i$. Otherwise prefix i has its own
# draw, and $(s_i - Z_i) + (1 - s_i + Z_i)\, h_i = (s_i - Z_i) + Z_i = s_i$.
#
# *So the distribution is right.* After i draft tokens, x comes next in one of two ways. It is an accepted draft token: $\min(s_i p(x), q(x))$.
# Or K = i, with probability $Z_i$, and it is drawn from the residual: $\max(s_i p(x) - q(x), 0)$. Together that is $s_i\, p(x)$. The prefix is
# accepted with probability $s_i$, so given the prefix the next token has the distribution p. $\blacksquare$
#
# A proof may have a hole. So enumerate every branch of two draft tokens, with your `survivals`. The `Enumerator` runs a function once
# for every possible outcome of its random draws, and adds up the probabilities.

# %%
from minispec.engine.laws import Enumerator
from minispec.engine.noise import Address, Noise

P = np.array([[0.7, 0.3], [0.4, 0.6], [0.5, 0.5]])  # after 0, 1 and 2 tokens
Q = np.array([[0.4, 0.6], [0.8, 0.2]])


def block_round(noise: Noise) -> tuple[int, ...]:
    """Judge two draft tokens as a block, then fill up to three tokens."""
    x = [noise.categorical(Q[i], Address("draft", i)) for i in range(2)]
    ps, qs = [[float(T[i, x[i]]) for i in range(2)] for T in (P, Q)]
    s = [1.0, *survivals(ps, qs, True)]
    for kept in (2, 1, 0):
        if kept == 2:
            yes = s[2]
        else:
            wanted = np.maximum(s[kept] * P[kept] - Q[kept], 0)
            mass = wanted.sum()
            yes = mass / (mass + 1 - s[kept]) if kept else 1.0
        if noise.bernoulli(min(1.0, yes), Address("coin", kept)):
            break
    row = P[2] if kept == 2 else wanted / mass
    text = [*x[:kept], noise.categorical(row, Address("next", kept))]
    while len(text) < 3:
        i = len(text)
        text.append(noise.categorical(P[i], Address("plain", i)))
    return tuple(text)


# %%
law = Enumerator(block_round).law()
texts = [(a, b, c) for a in (0, 1) for b in (0, 1) for c in (0, 1)]
plain = np.array([P[0, a] * P[1, b] * P[2, c] for a, b, c in texts])
distance = abs(np.array([law.get(text, 0.0) for text in texts]) - plain).sum() / 2
print(f"total variation from the target: {distance:.1e}")
assert distance < 1e-12

# %% [markdown]
# ## 9.4 · A tree: several guesses for one position
#
# *7 minutes · ●●○*
#
# **Why.** If the draft is unsure, it can propose two tokens for the same position. If the first is rejected, the second is judged
# against the *residual*: what the target still wants. Two positions with two guesses each make a tree:
#
# ```text
#                        ┌── "slept"      accepted with Σ min(p, q); else
#            ┌── "cat" ──┤
#            │           └── "sat"        judged against the residual of p
#    "the" ──┤
#            │           ┌── "barked"
#            └── "dog" ──┤                seven rows in one pass of the target,
#                        └── "ran"        at most two drafts come out of it
# ```
#
# One pass reads all seven tokens. Each of them sees the prompt and its own ancestors, and no other branch: a mask as in lesson 2, with
# branches.

# %%
words = ["the", "cat", "dog", "slept", "sat", "barked", "ran"]
parents = [None, 0, 0, 1, 1, 2, 2]
sees = np.eye(7)
for token, parent in enumerate(parents):
    if parent is not None:
        sees[token] += sees[parent]  # whom its parent sees, and itself
depths = [1 + (parent is not None) + (parent in (1, 2)) for parent in parents]
assert sees.sum(axis=1).tolist() == depths
attention_figure(sees, words)

# %% [markdown]
# **Look.** Each row is a path from the beginning to a token. "sat" sees "cat" and "the". It does not see "slept", although "slept"
# comes earlier in the pass.


# %%
def two_guesses(p: np.ndarray, q: np.ndarray) -> float:
    """Return the chance that one of two guesses is accepted; both are drawn
    independently from q.

    First guess: sum(min(p, q)). If it fails, the target's distribution becomes the
        residual r = normalise(max(p - q, 0)), and the second guess is accepted with
        sum(min(r, q)). If p equals q, the first guess is always accepted.

    Example: p = (1, 0), q = (0.5, 0.5): 0.5 + 0.5 * 0.5 = 0.75
    """
    # BEGIN SOLUTION
    first = np.minimum(p, q).sum()
    rest = np.maximum(p - q, 0)
    if rest.sum() == 0:
        return float(first)
    return float(first + (1 - first) * np.minimum(rest / rest.sum(), q).sum())
    # END SOLUTION


# %%
lesson.check("two_guesses", two_guesses)

# %%
two_guesses = lesson.working("two_guesses", two_guesses)
print(
    f"one guess {np.minimum(p, q).sum():.2f}, two guesses {two_guesses(p, q):.2f}: "
    f"but two rows to verify instead of one"
)

# %% [markdown]
# **Predict.** Two guesses cost two rows. Where is a second guess worth *most*: where the draft is sure, or where it is unsure?
# `"sure"` or `"unsure"`

# %%
lesson.predict("tree", "unsure")

# %% [markdown]
# ## 9.5 · Lossy on purpose
#
# *5 minutes · ●●○*
#
# "Accept with probability min(1, p / (l q))", with a *lenience* l below 1: more is accepted, and the text is no longer the target's.
# You can compute how far off it is. So a system that does this should say so, with the number.


# %%
def lenient_law(p: np.ndarray, q: np.ndarray, lenience: float) -> np.ndarray:
    """Return the distribution of the token that comes out: accepted with
    min(1, p/(lenience q)), else drawn from the residual.

    The residual is normalise(max(p - q, 0)), as for the lossless rule.

    Example: lenience 1 gives p
    """
    # BEGIN SOLUTION
    accepted = np.minimum(q, p / lenience)
    rest = np.maximum(p - q, 0)
    rest = rest / rest.sum() if rest.sum() > 0 else p
    return accepted + (1 - accepted.sum()) * rest
    # END SOLUTION


# %%
lesson.check("lenient_law", lenient_law)

# %%
lenient_law = lesson.working("lenient_law", lenient_law)
laws_figure(
    {"target p": p} | {f"lenience {l}": lenient_law(p, q, l) for l in (0.7, 0.4)},
    ["cat", "dog", "fox"],
)

# %% [markdown]
# ## 9.6 · What a run promises
#
# *6 minutes · ●○○*
#
# "Lossless" is used for four different things:
#
# | promise | the tokens are | example |
# |---|---|---|
# | bit-exact | those of plain greedy decoding, always | temperature 0 |
# | same-seed | those of plain sampling with the same seed | match, race |
# | same-distribution | distributed as in plain sampling | rejection, block, tree |
# | lossy | something else | lenient |
#
# There is a condition that is easily overlooked. "The same tokens" needs the same *logits*, and sums of floating-point numbers
# depend on their order. Many libraries add up in another order if there are six rows instead of one.

# %%
prompt = list(range(200, 232))


def rows_agree(backend: str) -> str:
    """Compare the logits of six rows computed at once with the same rows one by one."""
    model = minispec.load_model("draft-1.6m", backend=backend)
    together, alone = model.session(), model.session()
    together.prefill(prompt), alone.prefill(prompt)
    six = together.score([5, 6, 7, 8, 9, 10])
    one_by_one = np.concatenate([alone.score([token]) for token in (5, 6, 7, 8, 9, 10)])
    return (
        f"{np.mean(six == one_by_one):.1%} of the numbers have the same bits, "
        f"largest difference {abs(six - one_by_one).max():.1e}"
    )


for backend in ("numpy", "numba"):
    print(f"{backend:6}", rows_agree(backend))

# %% [markdown]
# **Predict.** Can so small a difference, a hundred-thousandth at most, ever change the *text*? `"yes"` or `"no"`

# %%
lesson.predict("bits", "yes")

# %% [markdown]
# minispec computes the promise of every run from its settings, and prints it. Its name for the race of 9.2 is `gumbel`:

# %%
for options in (
    {"temperature": 0.0},
    {"verify": "gumbel"},
    {"verify": "block"},
    {"verify": "lenient:lenience=0.5"},
):
    made = minispec.generate("Once upon a time", max_tokens=24, seed=1, **options)
    print(
        f"{options!s:36} {made.guarantee:18} "
        f"{made.metrics.mean_acceptance_length:.2f} tokens per step"
    )

# %% [markdown]
# ## What you can do now
#
# You can say what each rule accepts, and what it promises in return. If a system calls itself "lossless", you can ask
# which of the four promises it means, and whether its logits depend on the number of rows.
#
# In the code base: `minispec/engine/verifiers/` has one file per rule, each beginning with its proof. `minispec/engine/generation/result.py` is
# the table above.

# %% [markdown]
# ## References
#
# - Daliri, Musco and Suresh, *Coupling without Communication and Drafter-Invariant Speculative Decoding*, 2024 (arXiv 2408.07978): the race with shared noise.
# - Sun et al., *Block Verification Accelerates Speculative Decoding*, ICLR 2025 (arXiv 2403.10444).
# - Miao et al., *SpecInfer: Accelerating Large Language Model Serving with Tree-based Speculative Inference and Verification*, ASPLOS 2024 (arXiv 2305.09781).
# - Leviathan, Kalman and Matias, *Fast Inference from Transformers via Speculative Decoding*, ICML 2023 (arXiv 2211.17192): lenience is in appendix A.5.

# %%
lesson.progress()
