# %% [markdown]
# # 8 · How many tokens to draft, and when to stop
#
# **Question.** The draft model can write one token or twenty before the target looks. How many should it write *here*?
#
# A fixed γ is a bet on an average text, and real text changes: a quotation repeats itself, a name comes out of nowhere. In this
# lesson you write controllers that choose γ while they decode. A **simulated** clock judges them, so the verdict is the same on every
# machine. Then comes the turn: a controller that looks clever and cheats (8.5).
#
# About 37 minutes. You need lesson 6.

# %%
import numpy as np

import minispec
from minispec.course.teaching import begin, explore, record
from minispec.lab.prompts import bundled_prompts
from minispec.lab.viz.plots.theory import curves_figure, laws_figure

lesson = begin("08")
target, draft = minispec.load_model("target-17m"), minispec.load_model("draft-1.6m")
target.backend.warm_up()
lesson

# %%
options = {"target": target, "draft": draft, "gamma": 8, "temperature": 0.0}
made = minispec.generate("Once upon a time there was a", max_tokens=96, **options)
full = [step for step in made.steps if len(step.draft_tokens) == 8]
laws_figure(
    {"accepted": np.array([step.num_accepted for step in full])},
    [str(i + 1) for i in range(len(full))],
    "of 8 draft tokens, step by step",
)

# %% [markdown]
# **Look.** Each bar is a step that drafted 8 tokens. High bars: the draft should have gone on. Low bars: most of its work was thrown away.
#
# **If you only have ten minutes:** do 8.2, and look at 8.5: the one thing a controller must not see.

# %% [markdown]
# ## 8.1 · Acceptance is not one number
#
# *6 minutes · ●○○*
#
# The formulas of lesson 6 say "each draft token is accepted with probability α, independently of the others". Then α alone would decide
# how often a step accepts 0, 1, 2, … tokens, as if you threw a biased coin until it fails. One text has too few steps to tell. So look at
# the steps of all texts that come with minispec.

# %%
accepted, evaluated, drafts_kept = [], 0, 0
for prompt in bundled_prompts():
    made = minispec.generate(prompt.text, max_tokens=64, **options)
    full = [step for step in made.steps if len(step.draft_tokens) == 8]
    accepted += [step.num_accepted for step in full]
    evaluated += made.metrics.num_evaluated_tokens
    drafts_kept += made.metrics.num_accepted_tokens
alpha = drafts_kept / evaluated
counts = np.bincount(accepted, minlength=9) / len(accepted)
coins = np.array([alpha**k * (1 - alpha) for k in range(8)] + [alpha**8])
laws_figure(
    {"measured": counts, f"coins with α = {alpha:.2f}": coins},
    [str(k) for k in range(9)],
    f"share of {len(accepted)} steps",
)

# %%
for what, k in (("none of the 8 accepted", 0), ("all 8 accepted", 8)):
    error = np.sqrt(coins[k] * (1 - coins[k]) / len(accepted))  # of so many coins
    apart = (counts[k] - coins[k]) / error
    word = "no clear difference" if abs(apart) < 2 else "more" if apart > 0 else "fewer"
    print(f"{what}: measured {counts[k]:.3f}, coins {coins[k]:.3f}: {word}")

# %% [markdown]
# **Look.** If both ends say "more", easy and hard positions come in runs: the draft is right for a while, then wrong for a while.
# If it knew in advance which kind of position comes next, it could draft 8 tokens here and none there.
#
# **Step through it,** on a text of yours. At each position, how many tokens would you have drafted? Count the slots that one step writes
# and the next one overwrites: that was work for nothing. [Such a run on the page in your browser](http://127.0.0.1:8000/#prompt=Once+upon+a+time+there+was+a&draft=draft-1.6m&rule=rejection&gamma=8&temperature=0&max_tokens=96&seed=1)
# shows on a clock what it cost. In Jupyter, first run `minispec page -o page` and `python -m http.server -d page` in a terminal.


# %%
def run(prompt: str, gamma: int):
    """Record a short greedy run."""
    return record(
        prompt,
        target=target,
        draft=draft,
        gamma=gamma,
        temperature=0.0,
        max_tokens=16,
    )


explore(run, prompt="Once upon a time there was a little", gamma=[1, 2, 4, 8])

# %% [markdown]
# ## 8.2 · One more token?
#
# *7 minutes · ●●○*
#
# **Why.** One more draft token brings a gain and a cost. The gain is the chance that it is accepted: all tokens before it must be, too. The
# cost is time. Before any formula, look at both, for α = 0.6, c = 0.1 and a speedup of 1.67:

# %%
number = list(range(1, 9))
curves_figure(
    number,
    {
        "gain: tokens that it adds": [0.6**k for k in number],
        "cost: tokens that its time would give elsewhere": [0.1 * 1.67 for k in number],
    },
    "the k-th draft token of a step",
    "tokens",
)

# %% [markdown]
# **Look.** The gain falls with each token, the cost stays. Draft while the gain is above the cost: three tokens here.
#
# Now in symbols. Token k is accepted with probability `reach`: all tokens before it are accepted, and this one too. So it adds `reach` tokens
# to the step. It costs the time c for the draft, and `row` for one more row in the target's pass (the unit is a plain step). Without it,
# decoding goes on at η tokens per unit of time, where η is the speedup. In the time c + row that makes (c + row) · η tokens. So draft
# the token if `reach > (c + row) · η`.
#
# **Predict.** α = 0.8, c = 0.05, rows are free, and η = 3.09. How many tokens should be drafted? (The reach of token k is α^k.)

# %%
lesson.predict("best", 8)


# %%
def draft_length(confidences: list[float], c: float, row: float, eta: float) -> int:
    """Return how many tokens to draft: go on while one more pays.

    confidences: the chance of each next token to be accepted, given that it is reached;
        stop at the end of the list

    Example: draft_length([0.9, 0.5, 0.9], 0.1, 0.0, 2.0) is 3: reach .9, .45, .405, all
        above 0.2
    """
    # BEGIN SOLUTION
    reach = 1.0
    for number, chance in enumerate(confidences):
        reach *= chance
        if reach <= (c + row) * eta:
            return number
    return len(confidences)
    # END SOLUTION


# %%
lesson.check("draft_length", draft_length)

# %%
draft_length = lesson.working("draft_length", draft_length)


def lengths(c: float):
    """Draw the best draft length over α."""
    alphas = [0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95]
    etas = {
        a: max(sum(a**k for k in range(g + 1)) / (g * c + 1) for g in range(40))
        for a in alphas
    }
    return curves_figure(
        alphas,
        {f"c = {c}": [draft_length([a] * 40, c, 0.0, etas[a]) for a in alphas]},
        "α",
        "tokens to draft",
    )


explore(lengths, c=[0.01, 0.05, 0.1, 0.3])

# %% [markdown]
# ## 8.3 · A controller that looks back
#
# *5 minutes · ●○○*
#
# **Why.** Hugging Face transformers began with the simplest adaptive rule. If the whole draft was accepted, it drafts two
# more next time. Otherwise it drafts one fewer, but at least one. γ never grows above `largest`.


# %%
def heuristic(history: list[tuple[int, int]], start: int = 5, largest: int = 20) -> int:
    """Return the gamma for the next step.

    history: (drafted, accepted) of each step so far; a step that drafted nothing
        changes nothing

    Example: heuristic([(5, 5), (7, 2)]) is 6
    """
    # BEGIN SOLUTION
    gamma = start
    for drafted, accepted in history:
        if drafted == 0:
            continue
        gamma = min(gamma + 2, largest) if accepted == drafted else max(gamma - 1, 1)
    return gamma
    # END SOLUTION


# %%
lesson.check("heuristic", heuristic)

# %%
heuristic = lesson.working("heuristic", heuristic)

# %% [markdown]
# ## 8.4 · Judged by a simulated clock
#
# *7 minutes · ●●●*
#
# **Why.** On a real clock the comparison takes hours, and other programs on the machine disturb it. So *simulate*. A text is given as
# the number of draft tokens that would be accepted at each position. Time is counted in plain steps.
#
# **Write** the judge. The text has `len(run)` positions. `run[i]` says how many draft tokens would be accepted if a step began at
# position i. A step with γ draft tokens yields `min(run[i], γ) + 1` tokens and costs `γ c + 1 + row γ`.


# %%
def simulate(controller, run: list[int], c: float, row: float) -> float:
    """Return the speedup over plain decoding (1 unit per token): len(run) / total cost.

    controller(history) -> gamma, where history is the list of (drafted, accepted) of
        the steps so far. Never draft beyond the end: at position i at most
        len(run) - i - 1 tokens
    """
    # BEGIN SOLUTION
    i, cost, history = 0, 0.0, []
    while i < len(run):
        gamma = min(controller(history), len(run) - i - 1)
        accepted = min(run[i], gamma)
        cost += gamma * c + 1 + row * gamma
        history.append((gamma, accepted))
        i += accepted + 1
    return len(run) / cost
    # END SOLUTION


# %%
lesson.check("simulate", simulate)

# %%
simulate = lesson.working("simulate", simulate)


def text_of(alphas: list[float], length: int = 300, seed: int = 0) -> list[int]:
    """Make a text of parts with different α; at each position, how many draft tokens in
    a row would be accepted.
    """
    rng = np.random.default_rng(seed)
    good = np.concatenate([rng.random(length) < a for a in alphas])
    return [int(np.argmin(np.append(good[i:], False))) for i in range(len(good))]


steady, changing = text_of([0.75] * 3), text_of([0.95, 0.3, 0.95])
controllers = {f"γ = {g}": (lambda history, g=g: g) for g in (1, 3, 5, 8)} | {
    "heuristic": heuristic
}
for name, text in (("steady", steady), ("changing", changing)):
    print(
        f"{name:9}",
        {
            label: round(simulate(controller, text, 0.1, 0.03), 2)
            for label, controller in controllers.items()
        },
    )

# %% [markdown]
# **Predict.** On the *steady* text, can any controller that only looks back beat the best fixed γ by much? `"yes"` or `"no"`

# %%
lesson.predict("steady", "no")

# %%
fixed = max(simulate(lambda h, g=g: g, steady, 0.1, 0.03) for g in range(1, 9))
adaptive = simulate(heuristic, steady, 0.1, 0.03)
print(f"steady: the best fixed γ {fixed:.2f}x, heuristic {adaptive:.2f}x")
assert adaptive < 1.05 * fixed

# %% [markdown]
# ## 8.5 · The turn: a controller that cheats
#
# *6 minutes · ●●○*
#
# **Why.** Here is a clever idea. "Draft two tokens. If the second one is rejected, say that we had drafted only one. Then the target's row
# after the first token is a bonus row, and we draw from it." Nothing is lost, and the row is there anyway.
#
# **Wrong first.** Is the text still the target's? Do not argue; enumerate. Take two positions and a vocabulary of two tokens. To keep
# it small, the second position does not depend on the first token. `Noise` hands out the random draws. The `Enumerator` runs a function
# once for every possible outcome of its draws, and adds up the probabilities.

# %%
from minispec.engine.laws import Enumerator
from minispec.engine.noise import Address, Noise

P = np.array([[0.7, 0.3], [0.4, 0.6]])  # the target at positions 1 and 2
Q = np.array([[0.4, 0.6], [0.8, 0.2]])  # the draft


def two_tokens(noise: Noise, *, peek: bool) -> tuple[int, int]:
    """Two draft tokens; with peek, a rejected second one was never drafted."""
    out: list[int] = []
    for i in range(2):
        token = noise.categorical(Q[i], Address("draft", i))
        if not noise.bernoulli(
            min(1.0, P[i, token] / Q[i, token]), Address("accept", i)
        ):
            rest = np.maximum(P[i] - Q[i], 0)
            row = P[i] if peek and i == 1 else rest / rest.sum()
            out.append(noise.categorical(row, Address("residual", i)))
            break
        out.append(token)
    while len(out) < 2:
        out.append(noise.categorical(P[len(out)], Address("sample", len(out))))
    return out[0], out[1]


# %%
pairs = [(a, b) for a in (0, 1) for b in (0, 1)]
wanted = np.array([P[0, a] * P[1, b] for a, b in pairs])
laws = {
    name: Enumerator(lambda noise, peek=peek: two_tokens(noise, peek=peek)).law()
    for name, peek in (("honest", False), ("peeks", True))
}
found = {
    name: np.array([law.get(pair, 0.0) for pair in pairs]) for name, law in laws.items()
}
print(
    {
        name: f"total variation {abs(law - wanted).sum() / 2:.4f}"
        for name, law in found.items()
    }
)
laws_figure({"the target": wanted, **found}, [str(pair) for pair in pairs])

# %%
assert abs(found["honest"] - wanted).sum() < 1e-12
second = {name: law[0] + law[2] for name, law in found.items()}  # the second token is 0
print(f"the second token is 0: wanted {P[1, 0]:.2f}, peeking {second['peeks']:.3f}")
assert Q[1].argmax() == 0
assert second["peeks"] > P[1, 0]

# %% [markdown]
# The second token is too often the draft's favourite. The rule looked at what was drawn and then decided whether the draw counts.
#
# So the border runs here. A controller may look at every step that is over, and at the distribution from which the draft is about to
# draw. It must not look at the drawn tokens of the step in progress, nor at the random numbers that judge them. minispec's
# interface does not show them to a controller.
#
# ## 8.6 · When not to draft at all
#
# *6 minutes · ●●○*
#
# If even γ = 1 loses, the best draft is none. But a controller that never drafts never learns that the text has become easy.
#
# **Write** the rule: draft as long as recent steps paid. While it is off, try a single draft token every `probe` steps.


# %%
def fallback(
    history: list[tuple[int, int]],
    gamma: int,
    worth: float,
    window: int = 8,
    probe: int = 10,
) -> int:
    """Return the gamma of the next step: `gamma`, 1 (a probe) or 0.

    Look at the last `window` steps that drafted. Their rate is accepted / drafted,
    over all of them together.
    No such steps yet, or rate >= worth: gamma. Otherwise: 1 if the last probe - 1
    steps all drafted nothing, else 0.

    Example: fallback([(4, 0), (4, 0)], 4, 0.2) is 0
    """
    # BEGIN SOLUTION
    drafted = [(d, a) for d, a in history if d][-window:]
    if not drafted or sum(a for _, a in drafted) / sum(d for d, _ in drafted) >= worth:
        return gamma
    idle = history[max(0, len(history) - (probe - 1)) :]
    return 1 if len(idle) == probe - 1 and all(d == 0 for d, _ in idle) else 0
    # END SOLUTION


# %%
lesson.check("fallback", fallback)

# %%
fallback = lesson.working("fallback", fallback)
hopeless = text_of([0.05] * 3)
for name, text in (("hopeless", hopeless), ("changing", changing)):
    print(
        f"{name:9} γ = 4: {simulate(lambda h: 4, text, 0.15, 0.03):.2f}x, with "
        f"fallback: "
        f"{simulate(lambda h: fallback(h, 4, 0.25), text, 0.15, 0.03):.2f}x"
    )
saved = simulate(lambda h: fallback(h, 4, 0.25), hopeless, 0.15, 0.03)
assert saved > simulate(lambda h: 4, hopeless, 0.15, 0.03)

# %% [markdown]
# ## What you can do now
#
# You can say for every draft token whether it pays. You have written three controllers and a judge that needs
# no clock. And you can tell an honest controller from one that cheats: ask what it looked at before it decided.
#
# In the code base: `minispec/engine/control/` has the policies (`--gamma auto`, `--fallback request`). `docs/draft-length.md` says how they are
# judged. Assignment A5 is a competition in this.

# %% [markdown]
# ## References
#
# - Huang, Guo and Wang, *SpecDec++: Boosting Speculative Decoding via Adaptive Candidate Lengths*, COLM 2025 (arXiv 2405.19715): stop when one more does not pay.
# - Mamou et al., *Dynamic Speculation Lookahead Accelerates Speculative Decoding of Large Language Models*, 2024 (arXiv 2405.04304).
# - Gante, *Assisted Generation: a new direction toward low-latency text generation*, 2023 (huggingface.co/blog/assisted-generation): the rule of 8.3.

# %%
lesson.progress()
