# %% [markdown]
# # 8 · How many tokens to draft, and when to stop
#
# A fixed γ is a bet on an average text. Real text changes: a quotation repeats itself, a name comes out of nowhere. In this
# lesson you write controllers that choose γ as they go, and judge them by a **simulated** clock, so that the verdict is the same
# on every machine. And you meet the one thing a controller must not look at.
#
# About 37 minutes. You need lesson 6.

# %% [markdown]
# **If you only have ten minutes:** do 8.2, and look at 8.5: the one thing a controller must not see.

# %%
import numpy as np

import minispec
from minispec.course.teaching import begin, explore, record
from minispec.lab.prompts import bundled_prompts
from minispec.lab.viz.plots.theory import curves_figure, laws_figure

lesson = begin("08")
lesson

# %% [markdown]
# ## 8.1 · Acceptance is not one number
#
# *6 minutes · ●○○*
#
# The formulas of lesson 6 say "each draft is accepted with probability α, independently". If that were so, the number of
# accepted drafts in a round would follow a law that α alone decides, as with a coin that is thrown until it fails. Look at
# real rounds, from all the texts that come with minispec: one text has too few rounds to tell.

# %%
target, draft = minispec.load_model("target-17m"), minispec.load_model("draft-1.6m")
target.backend.warm_up()
accepted, evaluated, drafts_kept = [], 0, 0
for prompt in bundled_prompts():
    made = minispec.generate(
        prompt.text, target=target, draft=draft, gamma=8, temperature=0.0, max_tokens=64
    )
    rounds = [step for step in made.steps if len(step.draft_tokens) == 8]
    accepted += [step.num_accepted for step in rounds]
    evaluated += made.metrics.num_evaluated_tokens
    drafts_kept += made.metrics.num_accepted_tokens
alpha = drafts_kept / evaluated
counts = np.bincount(accepted, minlength=9) / len(accepted)
coins = np.array([alpha**k * (1 - alpha) for k in range(8)] + [alpha**8])
laws_figure(
    {"measured": counts, f"coins with α = {alpha:.2f}": coins},
    [str(k) for k in range(9)],
    f"share of {len(accepted)} rounds",
)

# %%
for what, k in (("none of the 8 accepted", 0), ("all 8 accepted", 8)):
    error = np.sqrt(coins[k] * (1 - coins[k]) / len(accepted))  # of so many coins
    apart = (counts[k] - coins[k]) / error
    word = "no clear difference" if abs(apart) < 2 else "more" if apart > 0 else "fewer"
    print(f"{what}: measured {counts[k]:.3f}, coins {coins[k]:.3f}: {word}")

# %% [markdown]
# **Look.** Where both ends say "more", easy and hard places come in runs: the draft is right for a while, then wrong for a while.
# If it knew in advance which kind of place it is at, it could draft 8 tokens here and none there.
#
# **Step through it,** on a text of yours. At each place, how many tokens would you have drafted? Count the slots that a round writes
# and the next one writes over: that was work for nothing.


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
# **Why.** Say that the draft reaches the next position with probability `reach` (all before it accepted, and this one too). One
# more drafted token then adds `reach` tokens to the round. It costs c for the draft and a little for one more row. Elsewhere
# that time would yield η tokens per unit, where η is the speedup we reach anyway. So it pays if
# `reach > (c + row) · η`.
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
# **Why.** The simplest adaptive rule is the one that Hugging Face transformers began with: if the whole draft was accepted, draft
# two more next time; else one fewer, but at least one.


# %%
def heuristic(history: list[tuple[int, int]], start: int = 5, largest: int = 20) -> int:
    """Return the gamma for the next round.

    history: (drafted, accepted) of each round so far; a round that drafted nothing
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
# **Why.** To compare controllers on a real clock one would need hours, and a neighbour's program would decide who wins. So we
# *simulate*: a text is given as the number of drafts that would be accepted at each place, and time is counted in units.
#
# **Write** the judge. The text has `len(run)` places; `run[i]` says how many drafted tokens would be accepted if a round began at
# place i. A round with γ drafts yields `min(run[i], γ) + 1` tokens and costs `γ c + 1 + row γ`.


# %%
def simulate(controller, run: list[int], c: float, row: float) -> float:
    """Return the speedup over plain decoding (1 unit per token): len(run) / total cost.

    controller(history) -> gamma; never draft beyond the end: at place i at most
    len(run) - i - 1 tokens
    """
    # BEGIN SOLUTION
    place, cost, history = 0, 0.0, []
    while place < len(run):
        gamma = min(controller(history), len(run) - place - 1)
        accepted = min(run[place], gamma)
        cost += gamma * c + 1 + row * gamma
        history.append((gamma, accepted))
        place += accepted + 1
    return len(run) / cost
    # END SOLUTION


# %%
lesson.check("simulate", simulate)

# %%
simulate = lesson.working("simulate", simulate)


def text_of(alphas: list[float], length: int = 300, seed: int = 0) -> list[int]:
    """Make a text of parts with different α; at each place, how many drafts in a row
    would be accepted.
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
# ## 8.5 · What a controller must not see
#
# *6 minutes · ●●○*
#
# **Why.** A controller may look at everything that is over, and at what the draft is about to draw *from*. It must not look at
# the drawn tokens, or at the coins, of the round in progress, and then decide which of them count. An example: "draft two tokens;
# if the second is rejected, pretend we had drafted only one, and take the bonus row instead".
#
# **Wrong first.** It sounds harmless: the row is there, computed anyway. We enumerate the honest rule and the one that peeks,
# over two positions of a vocabulary of two tokens.

# %%
from minispec.engine.laws import Enumerator
from minispec.engine.noise import Address, Noise

P = np.array(
    [[0.7, 0.3], [0.4, 0.6]]
)  # the target after the start, and after one more token (whichever)
Q = np.array([[0.4, 0.6], [0.8, 0.2]])


def two_tokens(noise: Noise, *, peek: bool) -> tuple[int, int]:
    """Two drafts; with peek, a rejection of the second one is forgotten and the row of
    the target used afresh.
    """
    out: list[int] = []
    for i in range(2):
        token = noise.categorical(Q[i], Address("draft", i))
        if not noise.bernoulli(
            min(1.0, P[i, token] / Q[i, token]), Address("accept", i)
        ):
            rest = np.maximum(P[i] - Q[i], 0)
            law = P[i] if peek and i == 1 else rest / rest.sum()
            out.append(noise.categorical(law, Address("residual", i)))
            break
        out.append(token)
    while len(out) < 2:
        out.append(noise.categorical(P[len(out)], Address("sample", len(out))))
    return out[0], out[1]


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
# The second token is too often the draft's favourite. minispec's interface simply does not hand such things to a controller.
#
# ## 8.6 · When not to draft at all
#
# *6 minutes · ●●○*
#
# If even γ = 1 loses, the best draft is none. But a controller that never drafts never learns that the text has become easy.
#
# **Write** the rule: draft as long as recent rounds paid; while off, try a single draft every `probe` rounds.


# %%
def fallback(
    history: list[tuple[int, int]],
    gamma: int,
    worth: float,
    window: int = 8,
    probe: int = 10,
) -> int:
    """Return the gamma of the next round: `gamma`, 1 (a probe) or 0.

    Look at the last `window` rounds that drafted. Their rate is accepted / drafted,
    over all of them together.
    No such rounds yet, or rate >= worth: gamma. Otherwise: 1 if the last probe - 1
    rounds all drafted nothing, else 0.

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
# In the code base: `minispec/engine/control/` has the policies (`--gamma auto`, `--fallback request`), `docs/draft-length.md` how they are
# judged, and assignment A5 is a competition in this.

# %% [markdown]
# ## References
#
# - Huang, Guo and Wang, *SpecDec++: Boosting Speculative Decoding via Adaptive Candidate Lengths*, COLM 2025 (arXiv 2405.19715): stop when one more does not pay.
# - Mamou et al., *Dynamic Speculation Lookahead Accelerates Speculative Decoding of Large Language Models*, 2024 (arXiv 2405.04304).
# - Gante, *Assisted Generation: a new direction toward low-latency text generation*, 2023 (huggingface.co/blog/assisted-generation): the rule of 8.3.

# %%
lesson.progress()
