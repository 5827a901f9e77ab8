# %% [markdown]
# # 9 · Other rules, and what "lossless" really promises
#
# Rejection sampling is one rule of several. Some accept less and promise more; some accept more by looking at the draft as a
# whole, or at several drafts at once; some accept more by giving up the promise. In this lesson you write the heart of four of
# them, and learn to read what a system promises.
#
# About 35 minutes. You need lessons 5 and 6.

# %%
import numpy as np

import minispec
from minispec.teaching import begin, explore
from minispec.viz.plots.curves import curves_figure
from minispec.viz.plots.laws import laws_figure

lesson = begin("09")
lesson

# %% [markdown]
# ## 9.1 · Match: the same text as without a draft
#
# **Why.** Let the target sample its own token, exactly as it would without a draft. If the drafted token happens to be that one,
# it is accepted. Nothing is more obviously right: with the same seed the text *is* the text of plain sampling.
#
# **Predict.** p = (0.5, 0.3, 0.2), q = (0.2, 0.3, 0.5), drawn independently. How often do the two agree?

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
# Rejection sampling accepts 0.7 of these (lesson 5). The price of the stronger promise is high where texts are uncertain.
#
# ## 9.2 · The race: share the noise
#
# **Why.** Draw by a *race*: token x arrives at time $E_x / p_x$, with $E_x$ exponential; the first one wins. That has exactly the
# law p. Now let draft and target run the race with the **same** noise $E$. They agree far more often, and the target's token is
# still what plain sampling would have given.


# %%
def race(probs: np.ndarray, exponentials: np.ndarray) -> int:
    """Return the token with the smallest exponentials / probs; a token of probability 0 never arrives."""
    # BEGIN SOLUTION
    times = np.where(probs > 0, exponentials / np.where(probs > 0, probs, 1.0), np.inf)
    return int(np.argmin(times))
    # END SOLUTION


# %%
lesson.check("race", race)

# %%
race = lesson.working("race", race)
rng = np.random.default_rng(0)
p, q = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.3, 0.5])
noise = rng.exponential(size=(20000, 3))
winners = np.array([(race(p, e), race(q, e)) for e in noise])
print(f"law of the winner {np.bincount(winners[:, 0]) / len(noise)} for p = {p}")
print(
    f"agree with shared noise {np.mean(winners[:, 0] == winners[:, 1]):.3f}; independent {match_rate(p, q):.3f}; "
    f"rejection {np.minimum(p, q).sum():.3f}"
)

# %% [markdown]
# ## 9.3 · Block: judge the draft as a whole
#
# **Why.** Rejection sampling stops at the first failed coin. A later token that the target likes *much* more than the draft does
# cannot make up for an earlier one it likes a little less. Block verification multiplies the ratios first, and clips only at 1:
# $s_i = \min(1,\; s_{i-1}\, p(x_i)/q(x_i))$ with $s_0 = 1$: the chance that the first i drafts stay.


# %%
def survivals(
    p_of_drafts: list[float], q_of_drafts: list[float], block: bool
) -> list[float]:
    """Return the chance that each draft survives, given the drafts: with rejection sampling, or with block verification.

    p_of_drafts[i], q_of_drafts[i]: what target and draft gave the i-th drafted token.
    Rejection: the product of min(1, p/q) up to i. Block: clip the running product, not the factors.

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
        f"draft (the target likes the second one {second:g} times as much)",
        "chance to stay",
    )


explore(compare, second=[0.5, 1.0, 1.5, 2.5])

# %% [markdown]
# **Look.** Where only one line is seen the two agree. With 1.5 and 2.5 the chance of the second draft is *above* that of the first:
# each point knows the drafts up to it and no further, and a second draft that the target likes makes up for the first.
#
# Block verification is never worse, and also exact: the proof is at the top of `minispec/verifiers/block.py`.
#
# ## 9.4 · A tree: several guesses for one place
#
# **Why.** If the draft is unsure, it can propose two tokens for the same place. If the first is rejected, the second is judged
# against the *residual*: what the target still wants.


# %%
def two_guesses(p: np.ndarray, q: np.ndarray) -> float:
    """Return the chance that one of two guesses is accepted; both are drawn independently from q.

    First guess: sum(min(p, q)). If it fails, the target's law becomes the residual r = normalise(max(p - q, 0)), and the
    second guess is accepted with sum(min(r, q)).

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
    f"one guess {np.minimum(p, q).sum():.2f}, two guesses {two_guesses(p, q):.2f}: but two rows to verify instead of one"
)

# %% [markdown]
# **Predict.** Two guesses cost two rows. Where is a second guess worth *most*: where the draft is sure, or where it is unsure?
# `"sure"` or `"unsure"`

# %%
lesson.predict("tree", "unsure")

# %% [markdown]
# ## 9.5 · Lossy on purpose
#
# "Accept with probability min(1, p / (l q))", with a *lenience* l below 1: more is accepted, and the text is no longer the target's.
# How far off it is can be computed, so there is no excuse for not saying it.


# %%
def lenient_law(p: np.ndarray, q: np.ndarray, lenience: float) -> np.ndarray:
    """Return the law of the token that comes out: accepted with min(1, p/(lenience q)), else drawn from the residual.

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
# "Lossless" is used for four different things:
#
# | promise | the tokens are | example |
# |---|---|---|
# | bit-exact | those of plain greedy decoding, always | temperature 0 |
# | same-seed | those of plain sampling with the same seed | match, race |
# | same-distribution | distributed as in plain sampling | rejection, block, tree |
# | lossy | something else | lenient |
#
# And there is a condition that is easily overlooked. "The same tokens" needs the same *logits*, and sums of floating-point numbers
# depend on their order. Many libraries add up in another order when there are six rows instead of one.

# %%
prompt = list(range(200, 232))


def rows_agree(backend: str) -> str:
    """Compare the logits of six rows computed at once with the same rows one by one."""
    model = minispec.load_model("draft-1.6m", backend=backend)
    together, alone = model.session(), model.session()
    together.prefill(prompt), alone.prefill(prompt)
    six = together.score([5, 6, 7, 8, 9, 10])
    one_by_one = np.concatenate([alone.score([token]) for token in (5, 6, 7, 8, 9, 10)])
    return f"{np.mean(six == one_by_one):.1%} of the numbers have the same bits, largest difference {abs(six - one_by_one).max():.1e}"


for backend in ("numpy", "numba"):
    print(f"{backend:6}", rows_agree(backend))

# %% [markdown]
# **Predict.** A difference of a millionth: can it ever change the *text*? `"yes"` or `"no"`

# %%
lesson.predict("bits", "yes")

# %% [markdown]
# minispec prints the promise of every run, and computes it from what the run does:

# %%
for options in (
    {"temperature": 0.0},
    {"verify": "gumbel"},
    {"verify": "block"},
    {"verify": "lenient:lenience=0.5"},
):
    made = minispec.generate("Once upon a time", max_tokens=24, seed=1, **options)
    print(
        f"{options!s:36} {made.guarantee:18} {made.metrics.mean_acceptance_length:.2f} tokens per round"
    )

# %% [markdown]
# In the code base: `minispec/verifiers/` has one file per rule, each beginning with its proof; `minispec/generation/guarantee.py` is
# the table above.

# %%
lesson.progress()
