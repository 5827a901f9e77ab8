# %% [markdown]
# # 6 · α, τ, and when it pays
#
# **How much faster is it, and when is it slower?**
#
# Three numbers decide: how often a draft token is accepted (**α**), what a draft token costs (**c**), and what it costs to verify
# several rows instead of one (**v**). In this lesson you write the formulas, find a trap in a worksheet, and hold the formulas
# against a real run.
#
# About 32 minutes. You need lessons 4 and 5.
#
# **If you only have ten minutes:** do 6.2 (the trap) and play with the picture in 6.3.

# %%
import statistics

import numpy as np

import minispec
from minispec.course.teaching import Times, begin, explore, record
from minispec.lab.timer import interleave
from minispec.lab.viz.plots.runs import timeline_figure
from minispec.lab.viz.plots.theory import curves_figure, laws_figure, surface_figure

lesson = begin("06")
target, draft = minispec.load_model("target-17m"), minispec.load_model("draft-1.6m")
target.backend.warm_up()
lesson

# %%
prompt = "Once upon a time there was a little girl who"
plain, drafted = (
    minispec.generate(
        prompt, target=target, draft=d, gamma=3, temperature=0.0, max_tokens=32
    )
    for d in (None, draft)
)
timeline_figure(plain.steps, drafted.steps)

# %% [markdown]
# **Look.** The same text twice on one time axis: above without a draft, below with one. A step with a draft takes longer (orange
# is the draft model), and it yields more tokens (the numbers). Which of the two wins?

# %% [markdown]
# ## 6.1 · Tokens per step
#
# *4 minutes · ●○○*
#
# **Why.** Say that each draft token, once it is tested, is accepted with probability α, independently. A step always yields one
# token of the target's own. The first draft token adds one with probability α, the second with α², because both must pass, and
# so on. The mean is called τ:
#
# $$\tau = 1 + \alpha + \alpha^2 + \dots + \alpha^\gamma$$
#
# **Predict.** α = 0.8 and γ = 5: how many tokens per step? A guess to within 5 % will do.

# %%
lesson.predict("per_round", 3.69)


# %%
def tau(alpha: float, gamma: int) -> float:
    """Return the expected number of tokens per step.

    It must also work at alpha = 1, where the closed form divides by zero.

    Example: tau(0.5, 2) is 1.75
    """
    # BEGIN SOLUTION
    return sum(alpha**k for k in range(gamma + 1))
    # END SOLUTION


# %%
lesson.check("tau", tau)

# %%
tau = lesson.working("tau", tau)
gammas = list(range(13))
curves_figure(
    gammas,
    {
        f"α = {alpha}": [tau(alpha, g) for g in gammas]
        for alpha in (0.5, 0.7, 0.8, 0.9, 1.0)
    },
    "γ, draft tokens per step",
    "τ, tokens per step",
)

# %% [markdown]
# **Look.** Only at α = 1 do longer drafts always help. At α = 0.5 the curve is nearly flat from γ = 4 on: its limit is
# 1/(1 − α) = 2.

# %%
assert tau(0.5, 4) > 0.96 * 2
assert tau(0.5, 12) < 2
assert tau(1.0, 12) == 13

# %% [markdown]
# ## 6.2 · The trap: accepted / drafted is not α
#
# *8 minutes · ●●○*
#
# **Wrong first.** A worksheet says: *"1000 tokens were drafted in steps of γ = 4, and 720 of them were accepted. So the acceptance
# rate α is 0.72, and with τ = 1 + 0.72 + … we expect 2.9 tokens per step."*
#
# But after a rejection the rest of a draft is never tested. It counts as drafted, and never had a chance. A step accepts τ − 1 draft
# tokens on average, of γ. The share accepted / drafted is called the *draft acceptance rate*. It is not α.
#
# **Predict.** Is the true α larger or smaller than 0.72? Answer `"larger"` or `"smaller"`.

# %%
lesson.predict("larger", "larger")


# %%
def acceptance_rate(alpha: float, gamma: int) -> float:
    """Return the expected accepted / drafted at this alpha, with gamma draft tokens
    in every step (gamma >= 1).

    Example: acceptance_rate(0.5, 2) is 0.375
    """
    # BEGIN SOLUTION
    return (tau(alpha, gamma) - 1) / gamma
    # END SOLUTION


# %%
lesson.check("acceptance_rate", acceptance_rate)

# %%
acceptance_rate = lesson.working("acceptance_rate", acceptance_rate)


# %%
def alpha_of(rate: float, gamma: int) -> float:
    """Return the alpha at which accepted / drafted is `rate`: the way back.

    acceptance_rate grows with alpha, so halve the interval [0, 1] some 50 times.
    """
    # BEGIN SOLUTION
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        if acceptance_rate(middle, gamma) < rate:
            low = middle
        else:
            high = middle
    return (low + high) / 2
    # END SOLUTION


# %%
lesson.check("alpha_of", alpha_of)

# %%
alpha_of = lesson.working("alpha_of", alpha_of)
true_alpha = alpha_of(0.72, 4)
print(f"the worksheet's α: 0.72, τ = {tau(0.72, 4):.2f}")
print(
    f"the true α: {true_alpha:.3f}, τ = {tau(true_alpha, 4):.2f}, which is 1 + 4 · "
    f"0.72 = {1 + 4 * 0.72:.2f}"
)

# %% [markdown]
# The two counts give τ directly: 1 + γ · accepted / drafted. You need α only to know what *another* γ would do.
#
# ## 6.3 · What it costs
#
# *8 minutes · ●●○*
#
# **Why.** Measure time in units of one plain step: one pass of the target over one row. A step with a draft costs γ draft tokens, c
# each, and one pass of the target over γ + 1 rows, v. It yields τ tokens, for which plain decoding pays τ:
#
# $$\text{speedup} = \frac{\tau}{\gamma c + v}$$


# %%
def speedup(alpha: float, gamma: int, c: float, v: float = 1.0) -> float:
    """Return how many times faster than plain decoding.

    Example: speedup(0.8, 5, 0.1, 1.2) is 2.17, rounded
    """
    # BEGIN SOLUTION
    return tau(alpha, gamma) / (gamma * c + v)
    # END SOLUTION


# %%
lesson.check("speedup", speedup)

# %%
speedup = lesson.working("speedup", speedup)


def surface(gamma: int):
    """Draw the speedup over α and c."""
    alphas, costs = np.linspace(0, 1, 60), np.linspace(0, 0.6, 60)
    values = np.array(
        [[speedup(a, gamma, c, 1 + 0.04 * gamma) for a in alphas] for c in costs]
    )
    return surface_figure(
        alphas,
        costs,
        values,
        ("α", "c, cost of a draft token", f"speedup at γ = {gamma}"),
    )


explore(surface, gamma=[1, 2, 3, 5, 8])

# %% [markdown]
# **Look.** On the bold line drafting neither wins nor loses. Red is slower than plain decoding: a draft that is too expensive, or
# too often wrong, costs time. It never costs correctness.
#
# **Predict.** With γ = 1 and v = 1: a draft costs c = 0.4. From which α on does it pay?

# %%
lesson.predict("break_even", 0.4)


# %%
def best_gamma(
    alpha: float, c: float, v_per_row: float = 0.0, largest: int = 20
) -> int:
    """Return the gamma in 0..largest with the highest speedup; verifying costs v = 1 +
    v_per_row * gamma.

    gamma = 0 is plain decoding, speedup 1. Of equals take the smallest.
    """
    # BEGIN SOLUTION
    values = [
        speedup(alpha, gamma, c, 1 + v_per_row * gamma) for gamma in range(largest + 1)
    ]
    return int(np.argmax(values))
    # END SOLUTION


# %%
lesson.check("best_gamma", best_gamma)

# %%
best_gamma = lesson.working("best_gamma", best_gamma)
curves_figure(
    gammas,
    {
        f"α = {a}, c = {c}": [speedup(a, g, c, 1 + 0.04 * g) for g in gammas]
        for a, c in ((0.9, 0.05), (0.8, 0.1), (0.6, 0.1), (0.4, 0.3))
    },
    "γ",
    "speedup",
    level=1.0,
    best=True,
)

# %%
assert best_gamma(0.9, 0.05, 0.04) > best_gamma(0.6, 0.1, 0.04)
assert best_gamma(0.4, 0.3, 0.04) <= 1

# %% [markdown]
# ## 6.4 · Hold it against a run
#
# *8 minutes · ●●○*
#
# Now the bundled pair on this machine. `minispec.generate` returns its counts and times as `.metrics`: `alpha` is accepted /
# *evaluated*, without the draft tokens that were never tested, and `mean_acceptance_length` is τ. We time plain decoding and five
# draft lengths in turns.


# %%
def run(gamma: int | None):
    """Generate 96 tokens; None is plain decoding."""
    return minispec.generate(
        prompt,
        target=target,
        temperature=0.0,
        draft=None if gamma is None else draft,
        gamma=gamma or 1,
        max_tokens=96,
    ).metrics


gammas_run = (1, 2, 3, 5, 8)
run(3), run(None)  # the very first runs are slower than all others
made = interleave(
    {"plain": lambda: run(None)}
    | {f"γ = {g}": (lambda g=g: run(g)) for g in gammas_run},
    3,
)
times = Times({name: [m.decode_s for m in runs] for name, runs in made.items()})

# %% [markdown]
# From these runs: c, the time per draft token; v, the time of a target pass; both divided by the time of a plain step. Then the
# speedup that the formula predicts, next to the measured one.

# %%
plain_s = statistics.median(m.decode_s / m.num_steps for m in made["plain"])
print(" γ      α      τ  formula  accepted/drafted      c      v  predicted  measured")
rates, costs = {}, {}
for g in gammas_run:
    runs = made[f"γ = {g}"]
    m = runs[0]
    c = statistics.median(r.draft_s / r.num_draft_tokens for r in runs) / plain_s
    v = statistics.median(r.target_s / r.num_steps for r in runs) / plain_s
    predicted = m.mean_acceptance_length / (g * c + v)
    measured = times.median("plain") / times.median(f"γ = {g}")
    rates[g], costs[g] = m.draft_acceptance_rate, v
    print(
        f"{g:>2} {m.alpha:6.3f} {m.mean_acceptance_length:6.2f} {tau(m.alpha, g):8.2f} "
        f"{rates[g]:17.3f} {c:6.3f} {v:6.2f} {predicted:9.2f}x {measured:8.2f}x"
    )

# %%
best = min((f"γ = {g}" for g in gammas_run), key=times.median)
gain = times.median("plain") / times.median(best)
times.conclude(
    f"the fastest of these here: {best}, {gain:.2f}x",
    possible=min(costs.values()) > 0.9,  # several rows cost no less than one
)

# %% [markdown]
# Three things to see.
#
# - At *one* α the formula makes accepted / drafted fall as γ grows: it is a property of the step, α of the pair of models. A single
#   text need not follow, because another γ lets the steps begin at other positions of it.
# - The formula's τ is near the measured one but not equal. Acceptances are not independent: easy positions come in runs.
# - Predicted and measured speedup differ by what the formula leaves out: sampling, bookkeeping, and the noise of a clock.

# %%
at_one_alpha = [acceptance_rate(0.7, g) for g in gammas_run]
assert at_one_alpha == sorted(at_one_alpha, reverse=True)
print("the formula at α = 0.7:", ", ".join(f"{rate:.3f}" for rate in at_one_alpha))
rising = [
    g for g, h in zip(gammas_run[1:], gammas_run, strict=False) if rates[g] > rates[h]
]
print("this text rises at γ =", rising or "no γ")

# %% [markdown]
# **Step through it,** on a text of yours. The worksheet counts every draft token in the denominator. If a step ends with a
# rejection, how many draft tokens after it were never tested?


# %%
def steps(prompt: str, gamma: int):
    """Record a short greedy run."""
    return record(
        prompt,
        target=target,
        draft=draft,
        gamma=gamma,
        temperature=0.0,
        max_tokens=24,
    )


explore(steps, prompt=prompt, gamma=[2, 5, 8])

# %%
ends = [frame for frame in steps(prompt, 5).frames if frame.stage == "replace"]
unseen = sum(fate == "unseen" for frame in ends for _, fate in frame.text)
m = minispec.generate(
    prompt, target=target, draft=draft, gamma=5, temperature=0.0, max_tokens=24
).metrics
print(f"drafted {m.num_draft_tokens}, tested {m.num_evaluated_tokens}")
print(f"never tested: {unseen}")
assert unseen == m.num_draft_tokens - m.num_evaluated_tokens

# %% [markdown]
# Where in the draft are tokens accepted? Position k counts only if all before it passed. If acceptances were independent, its share
# would be α to the power of k.

# %%
m = run(8)
by_position = [count / m.num_drafts for count in m.num_accepted_tokens_per_pos]
positions = list(range(1, len(by_position) + 1))
curves_figure(
    positions,
    {
        "measured": by_position,
        f"α to the power of k, α = {m.alpha:.2f}": [m.alpha**k for k in positions],
    },
    "k, position in the draft",
    "share of steps that accept it",
)

# %% [markdown]
# ## 6.5 · How much a step varies
#
# *4 minutes · ●○○*
#
# τ is a mean. Single steps yield between 1 and γ + 1 tokens. The distribution is geometric, up to its last entry.


# %%
def tokens_law(alpha: float, gamma: int) -> np.ndarray:
    """Return the probability that a step yields 1, 2, ..., gamma + 1 tokens, shape
    [gamma + 1].

    Yielding k + 1 means: k accepted and then a rejection; or all gamma accepted.

    Example: tokens_law(0.5, 2) is [0.5, 0.25, 0.25]
    """
    # BEGIN SOLUTION
    law = np.array([alpha**k * (1 - alpha) for k in range(gamma + 1)])
    law[gamma] = alpha**gamma
    return law
    # END SOLUTION


# %%
lesson.check("tokens_law", tokens_law)

# %%
tokens_law = lesson.working("tokens_law", tokens_law)
labels = [str(k) for k in range(1, 7)]
laws_figure({f"α = {a}": tokens_law(a, 5) for a in (0.5, 0.8, 0.95)}, labels)

# %% [markdown]
# ## What you can do now
#
# - Compute τ and the speedup from α, γ, c and v, and the best γ.
# - Tell α from accepted / drafted, and say why the second falls as γ grows.
# - Say from which α on a draft pays.
#
# In the code base: `minispec/theory/` has these formulas with their sources, and `minispec plan` is this lesson as a command.

# %% [markdown]
# ## References
#
# - Leviathan, Kalman and Matias, *Fast Inference from Transformers via Speculative Decoding*, ICML 2023 (arXiv 2211.17192): τ is equation 1, the speedup theorem 3.8.
# - Chen et al., *Accelerating Large Language Model Decoding with Speculative Sampling*, 2023 (arXiv 2302.01318): figure 1 has what longer drafts did to the accepted share and to the speed.

# %%
lesson.progress()
