# %% [markdown]
# # 12 · The claims of the field, tested
#
# **Question.** "Speculative decoding makes it two to three times faster." Is that true, here, on your machine?
#
# You will meet such sentences wherever you read about speculative decoding. "Verifying is free." "It does not help for short answers." In this
# lesson you put six of them to the test. And you learn to say *undecided* when a measurement does not decide.
#
# About 35 minutes. You need lessons 3, 6 and 9.

# %%
import numpy as np

import minispec
from minispec.course.teaching import Times, begin, explore
from minispec.lab.prompts import bundled_prompts
from minispec.lab.timer import interleave
from minispec.lab.viz.plots.theory import curves_figure, laws_figure

lesson = begin("12")
target, draft = minispec.load_model("target-17m"), minispec.load_model("draft-1.6m")
target.backend.warm_up()
prompts = {
    domain: next(p.text for p in bundled_prompts() if p.domain == domain)
    for domain in ("stories", "code", "questions")
}
lesson


# %%
def seconds(prompt: str, gamma: int | None, temperature=0.0, max_tokens=24) -> float:
    """Decode, and return the seconds for each token."""
    options = {"seed": 1, "temperature": temperature, "max_tokens": max_tokens}
    drafts = {"draft": None} if gamma is None else {"draft": draft, "gamma": gamma}
    made = minispec.generate(prompt, target=target, **drafts, **options)
    return made.metrics.decode_s / made.metrics.num_decode_tokens


single = {
    f"run {i}": np.array([seconds(p, None) / seconds(p, 3) for p in prompts.values()])
    for i in (1, 2, 3)
}
laws_figure(single, list(prompts), "speedup, one run each")

# %% [markdown]
# **Look.** The same question, asked three times on three texts. Is the answer 2 to 3?
#
# **If you only have ten minutes:** do 12.1, then 12.5: a claim that needs no machine to be tested.
#
# ## 12.1 · A verdict needs a rule
#
# *8 minutes · ●●○*
#
# **Why.** A claim names a range; a measurement gives an interval. Three things can happen: the interval lies in the range, it lies
# outside, or it overlaps the border. Only the first two decide anything.
#
# **Wrong first.** Take one run of each, divide, and give a verdict. That is what the first picture did, three times:

# %%
for name, ratios in single.items():
    print(name, " ".join(f"{ratio:.2f}x" for ratio in ratios))

# %% [markdown]
# If you had taken only one of these runs, it would have looked exact to two decimals.


# %%
def verdict(claimed: tuple[float, float], measured: tuple[float, float]) -> str:
    """Return "holds", "false" or "undecided".

    claimed, measured: (low, high), both ends included

    Example: verdict((2, 3), (1.8, 2.4)) is "undecided"
    """
    # BEGIN SOLUTION
    if claimed[0] <= measured[0] and measured[1] <= claimed[1]:
        return "holds"
    if measured[1] < claimed[0] or measured[0] > claimed[1]:
        return "false"
    return "undecided"
    # END SOLUTION


# %%
lesson.check("verdict", verdict)

# %%
verdict = lesson.working("verdict", verdict)

# %% [markdown]
# And the interval? Times have outliers: another program runs, a page of memory is missing. So measure plain and fast in turns, in *rounds*.
# Take the ratio within each round, then the median of the ratios. How well do you know this median? Draw rounds again and again, with
# replacement (the *bootstrap*), and see how far their medians spread.


# %%
def interval(
    plain: list[float], fast: list[float], picks: np.ndarray
) -> tuple[float, float]:
    """Return the 5 % and 95 % percentiles of the bootstrapped median of plain[i] /
    fast[i].

    picks: integers, shape [B, n]: row b says which rounds the b-th resampling takes.
        Use np.percentile.
    """
    # BEGIN SOLUTION
    ratios = np.array(plain) / np.array(fast)
    medians = np.median(ratios[picks], axis=1)
    return float(np.percentile(medians, 5)), float(np.percentile(medians, 95))
    # END SOLUTION


# %%
lesson.check("interval", interval)

# %%
interval = lesson.working("interval", interval)

# %% [markdown]
# ## 12.2 · "α = 0.8 and five drafts give about 4.5 tokens per step"
#
# *4 minutes · ●○○*
#
# This is a rule of thumb. Equation 1 of Leviathan et al. (2023) gives the expectation.
#
# **Predict.** Holds or false? `"holds"` or `"false"` (say "about" means within 5 %)

# %%
lesson.predict("tau", "false")

# %% [markdown]
# minispec keeps a ledger of such claims, `docs/claims.md`: who makes them, and what the papers found. `cite` prints an entry of it.

# %%
from minispec.lab.ledger.framework import SOURCES, get_experiment


def cite(name: str) -> None:
    """Print a claim as the ledger puts it, where it is made, and what is in print."""
    entry = get_experiment(name).about
    print(f"{entry.title}\n  claimed: {entry.claim}")
    for source in entry.sources:
        print(f"  by {SOURCES[source]}")
    print(f"  in print: {entry.literature}")


cite("tau")

# %%
expected = sum(0.8**k for k in range(6))
made = minispec.generate(
    "Once upon a time",
    target=target,
    draft="synthetic:alpha=0.8",
    gamma=5,
    max_tokens=400,
    seed=1,
)
print(
    f"formula {expected:.2f}; a run with a draft that has α = 0.8 by construction: "
    f"{made.metrics.mean_acceptance_length:.2f}; "
    f"verdict: {verdict((4.5 * 0.95, 4.5 * 1.05), (expected, expected))}"
)

# %% [markdown]
# ## 12.3 · "Two to three times faster"
#
# *6 minutes · ●●○*
#
# Leviathan et al. (2023) write in their abstract: *"We demonstrate it on T5-XXL and show a 2X-3X acceleration compared to the
# standard T5X implementation, with identical outputs"*. Chen et al. (2023) report 2 to 2.5 times for Chinchilla. The claim as it
# is repeated leaves out the model, the hardware, the texts and the temperature.

# %%
cite("two-to-three-times")

# %% [markdown]
# First check that you compare like with like: at temperature 0 both must give the same tokens.

# %%
options = {"target": target, "temperature": 0.0, "max_tokens": 32}
for prompt in prompts.values():
    plain = minispec.generate(prompt, draft=None, **options)
    fast = minispec.generate(prompt, draft=draft, gamma=3, **options)
    assert plain.token_ids == fast.token_ids
print("the same tokens, with and without a draft")

# %% [markdown]
# Now measure: plain and speculative in turns, seven rounds each, on three kinds of text, greedy and sampled.

# %%
picks = np.random.default_rng(0).integers(0, 7, (500, 7))
for temperature in (0.0, 1.0):
    for domain, prompt in prompts.items():
        runs = {
            "plain": lambda p=prompt, t=temperature: seconds(p, None, t, 32),
            "fast": lambda p=prompt, t=temperature: seconds(p, 3, t, 32),
        }
        times = interleave(runs, 7)
        low, high = interval(times["plain"], times["fast"], picks)
        case = f"{domain:10} T = {temperature:g}: {low:.2f}x to {high:.2f}x"
        print(Times(times).conclude(f"{case}  →  {verdict((2.0, 3.0), (low, high))}"))

# %% [markdown]
# **Look.** One sentence, six cases, each with an interval of its own. The text, the temperature and the machine decide. A single number
# without these says little.
#
# ## 12.4 · "Verifying is free"
#
# *3 minutes · ●○○*
#
# "Verifying five tokens costs as much as making one." The papers assume it for a machine with arithmetic to spare (Leviathan et
# al. 2023, section 3.3), and say so. People repeat the sentence without the condition. You know v(m) from lesson 3. If v is 1.3 and not 1, a step
# takes up to 1.3 times as long, whatever the draft.

# %%
cite("verification-cost")


# %%
def harm(v: float):
    """Draw predicted speedups with and without the cost of verifying."""
    alphas = [0.4, 0.5, 0.6, 0.7, 0.8, 0.9]
    taus = [sum(a**k for k in range(6)) for a in alphas]
    return curves_figure(
        alphas,
        {
            "verifying is free": [t / (5 * 0.06 + 1) for t in taus],
            f"v = {v}": [t / (5 * 0.06 + v) for t in taus],
        },
        "α at γ = 5, c = 0.06",
        "speedup",
        level=1.0,
    )


explore(harm, v=[1.0, 1.2, 1.5, 2.0])

# %% [markdown]
# ## 12.5 · "30 to 50 tokens per second for a 70B model on one A100"
#
# *5 minutes · ●○○*
#
# **Why.** Some claims need no machine, only arithmetic: does the model fit, and how fast can its weights be read?

# %%
cite("seventy-billion")


# %%
def decode_bound(
    billions: float, bits: float, memory_gb: float, gb_per_s: float
) -> float:
    """Return the most tokens per second of plain decoding, one sequence; 0.0 if the
    weights are larger than the memory.

    Example: decode_bound(7, 16, 80, 2000) is 2000 / 14
    """
    # BEGIN SOLUTION
    size_gb = billions * bits / 8
    return gb_per_s / size_gb if size_gb <= memory_gb else 0.0
    # END SOLUTION


# %%
lesson.check("decode_bound", decode_bound)

# %%
decode_bound = lesson.working("decode_bound", decode_bound)
for bits in (16, 8, 4):
    print(
        f"{bits:2} bits: {70 * bits / 8:5.1f} GB, at most "
        f"{decode_bound(70, bits, 80, 2039):5.1f} tokens/s on a card of 80 GB and "
        f"2039 GB/s"
    )

# %% [markdown]
# **Predict.** At which number of bits can 30 to 50 tokens per second come from *plain* decoding there? Type 16, 8 or 4.

# %%
lesson.predict("bits", 4)

# %% [markdown]
# ## 12.6 · "It does not help for short answers"
#
# *3 minutes · ●○○*
#
# The last step may yield more tokens than you asked for, and the rest is cut. How much does that cost? minispec's theory has the exact
# expectation for n tokens. (The first token is not among the n: the prompt gives it, without a step.)

# %%
from minispec.theory import response_speedup

cite("short-responses")

lengths = [1, 2, 4, 8, 12, 16, 20, 40, 80, 160]
curves_figure(
    [float(np.log2(n)) for n in lengths],
    {
        f"α = {a}": [response_speedup(n, [a] * 5, 0.06, 1.2) for n in lengths]
        for a in (0.5, 0.7, 0.9)
    },
    "log₂ of the tokens wanted (γ = 5, c = 0.06, v = 1.2)",
    "speedup",
    level=1.0,
)

# %% [markdown]
# **Look.** From about twenty tokens on, you get nearly the full gain. The picture leaves out the real cost of short answers: the
# draft model has to read the prompt, too, before the first step.

# %%
for a in (0.5, 0.7, 0.9):
    short, long = (response_speedup(n, [a] * 5, 0.06, 1.2) for n in (20, 160))
    print(f"α = {a}: {short:.2f}x with 20 tokens, {long:.2f}x with 160")
    assert short > 0.9 * long

# %% [markdown]
# ## 12.7 · "Accepted more often is better"
#
# *6 minutes · ●●○*
#
# **Why.** Two systems report "acceptance 60 %" and "acceptance 75 %". Which one is faster? You cannot know: the figure depends on γ.

# %%
cite("worksheet")


# %%
def same_pair(rate_one: float, gamma_one: int, rate_two: float, gamma_two: int) -> bool:
    """Return whether two rates (accepted / drafted) may come from one and the same
    alpha: whether the alpha of one is within 0.01 of the alpha of the other.

    Invert rate = (alpha + ... + alpha^gamma) / gamma for both, by halving intervals,
    and compare. The rates are between 0 and 1.

    Example: same_pair(0.8, 1, 0.538, 5) is True
    """

    # BEGIN SOLUTION
    def alpha_of(rate: float, gamma: int) -> float:
        low, high = 0.0, 1.0
        for _ in range(50):
            middle = (low + high) / 2
            if sum(middle**k for k in range(1, gamma + 1)) / gamma < rate:
                low = middle
            else:
                high = middle
        return low

    return abs(alpha_of(rate_one, gamma_one) - alpha_of(rate_two, gamma_two)) <= 0.01
    # END SOLUTION


# %%
lesson.check("same_pair", same_pair)

# %% [markdown]
# ## What you can do now
#
# You can turn a claim into a range and a measurement into an interval, and give a verdict by rule. You can tell which claims
# need a machine, and which need only arithmetic. And you know when the honest answer is *undecided*.
#
# In the code base: `minispec experiment list` has more than forty claims. Each has a file that states it, a measurement, a plot and a
# verdict by rule. `docs/claims.md` has the results.

# %% [markdown]
# ## References
#
# - Leviathan, Kalman and Matias, *Fast Inference from Transformers via Speculative Decoding*, ICML 2023 (arXiv 2211.17192): 2 to 3 times, with T5-XXL.
# - Chen et al., *Accelerating Large Language Model Decoding with Speculative Sampling*, 2023 (arXiv 2302.01318): 2 to 2.5 times, with Chinchilla.
# - Efron, *Bootstrap Methods: Another Look at the Jackknife*, The Annals of Statistics, 1979.
# - Kalibera and Jones, *Rigorous Benchmarking in Reasonable Time*, ISMM 2013.

# %%
lesson.progress()
