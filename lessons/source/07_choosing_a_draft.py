# %% [markdown]
# # 7 · Choosing a draft: latency, size, domain
#
# **Which small model should draft for a given large one: the most accurate, or the smallest?**
#
# Both answers are wrong in general. What counts is accepted tokens **per unit of time**. In this lesson you compare the drafts that
# come with minispec, build a draft of any quality and price, and find where each wins.
#
# About 40 minutes. You need lesson 6.
#
# **If you only have ten minutes:** do 7.3 and play with the picture in 7.4: the best draft is not the most accurate one.

# %%
import numpy as np

import minispec
from minispec.course.teaching import Times, begin, explore, record
from minispec.engine.drafters.tables import TableDrafter, TokenTable
from minispec.engine.sampling import SamplingParams
from minispec.lab.prompts import bundled_prompts
from minispec.lab.timer import interleave
from minispec.lab.viz.plots.theory import curves_figure, laws_figure

lesson = begin("07")
target = minispec.load_model("target-17m")
names = ("draft-0.6m", "draft-1.6m", "draft-1.6m-code")
drafts = {name: minispec.load_model(name) for name in names}
target.backend.warm_up()
lesson

# %%
sizes = {name: model.num_parameters / 1e6 for name, model in drafts.items()}
laws_figure(
    {"parameters": np.array([*sizes.values(), target.num_parameters / 1e6])},
    [*sizes, "target-17m"],
    "millions",
)

# %% [markdown]
# **Look.** Three drafts for one target. Two of them have the same size. Which would you take for stories, which for code?

# %% [markdown]
# ## 7.1 · What must agree
#
# *5 minutes · ●○○*
#
# **Why.** The rule of lesson 5 compares two distributions token by token. That only means something if both models have the *same*
# vocabulary: token 317 must be the same piece of text for both. Check this first. Comparing the sizes is not enough.


# %%
def same_vocabulary(one: dict[str, int], other: dict[str, int]) -> str:
    """Return "same", "sizes differ", or the text of the first token (by id) that
    differs.

    one, other: text of each token -> its id

    Example: same_vocabulary({"a": 0, "b": 1}, {"a": 0, "c": 1}) is "b"
    """
    # BEGIN SOLUTION
    if len(one) != len(other):
        return "sizes differ"
    for text, token in sorted(one.items(), key=lambda item: item[1]):
        if other.get(text) != token:
            return text
    return "same"
    # END SOLUTION


# %%
lesson.check("same_vocabulary", same_vocabulary)

# %% [markdown]
# ## 7.2 · Domain
#
# *4 minutes · ●○○*
#
# `draft-1.6m-code` is `draft-1.6m`, trained a little more: on code, and nothing else.
#
# **Predict.** On *stories*: will the code draft be accepted more often, less often, or exactly as often as `draft-1.6m`, which has
# the same size? Answer `"more"`, `"less"` or `"same"`.

# %%
lesson.predict("domain", "less")

# %%
prompts = {
    domain: [p.text for p in bundled_prompts() if p.domain == domain]
    for domain in ("stories", "code", "questions")
}


def measure(draft, domain: str, temperature: float = 0.0, max_tokens: int = 64):
    """Return alpha over the domain's prompts: accepted / evaluated."""
    made = [
        minispec.generate(
            prompt,
            target=target,
            draft=draft,
            gamma=4,
            temperature=temperature,
            max_tokens=max_tokens,
        ).metrics
        for prompt in prompts[domain]
    ]
    return sum(m.num_accepted_tokens for m in made) / sum(
        m.num_evaluated_tokens for m in made
    )


# %%
alphas = {
    name: [measure(draft, domain) for domain in prompts]
    for name, draft in drafts.items()
}
laws_figure(
    {name: np.array(values) for name, values in alphas.items()}, list(prompts), "α"
)

# %% [markdown]
# **Look.** Two drafts of one size differ by what they were trained on last. Where is each of the two the better one? Eight texts per
# domain are few, so we count a difference of less than 0.01 as none. The cards in `weights/` have figures over more text.

# %%
for domain, general, special in zip(
    prompts, alphas["draft-1.6m"], alphas["draft-1.6m-code"], strict=True
):
    gain = special - general
    verdict = "no difference" if abs(gain) < 0.01 else "better" if gain > 0 else "worse"
    print(f"{domain:10} draft-1.6m {general:.3f}, code draft {special:.3f}: {verdict}")

# %% [markdown]
# These texts are greedy, and greedy text repeats itself: any draft guesses a repetition easily. So we judge your prediction on sampled
# text, and without luck. The target writes; then we compute Σ min(p, q) at each position of its text. That is the probability
# that a token drawn from q would be accepted there (lesson 5). No random draw is needed, and both drafts get the same positions.


# %%
def softmax(logits: np.ndarray) -> np.ndarray:
    """Return the distributions of rows of logits."""
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def overlaps(domain: str) -> dict[str, list[float]]:
    """Return the mean of Σ min(p, q) over each text that the target writes."""
    found = {name: [] for name in ("draft-1.6m", "draft-1.6m-code")}
    for prompt in prompts[domain]:
        text = minispec.generate(
            prompt, target=target, draft=None, temperature=1.0, max_tokens=128, seed=7
        )
        before = target.tokenizer.encode(prompt)
        tokens = [*before, *text.token_ids]
        rows = slice(len(before) - 1, len(tokens) - 1)  # what follows each of them
        p = softmax(target.logits(tokens)[rows])
        for name, means in found.items():
            q = softmax(drafts[name].logits(tokens)[rows])
            means.append(float(np.minimum(p, q).sum(axis=1).mean()))
    return found


# %%
gain = {}
for domain in ("stories", "code"):
    general, special = overlaps(domain).values()
    gain[domain] = np.subtract(special, general)
    print(
        f"sampled {domain:7} draft-1.6m {np.mean(general):.3f}, code draft "
        f"{np.mean(special):.3f}, better on {(gain[domain] > 0).sum()} of "
        f"{len(general)} texts"
    )

# %% [markdown]
# **Look.** On code the code draft is the better one; on stories it is the worse one. It has only so many parameters. It gained on code
# and paid on stories.

# %%
assert gain["code"].mean() > 0 > gain["stories"].mean()

# %% [markdown]
# ## 7.3 · Latency
#
# *8 minutes · ●●○*
#
# **Why.** Speedup is τ / (γc + v). A better draft raises τ, and usually c too. What counts is the quotient.
#
# **Wrong first.** Take the draft with the highest α:

# %%
candidates = {"accurate": (0.9, 0.5), "quick": (0.7, 0.02)}


def best_speedup(alpha: float, c: float) -> float:
    """Return the speedup at the best of 12 values of γ; a verified row costs 4 %."""
    return max(
        sum(alpha**k for k in range(g + 1)) / (g * c + 1 + 0.04 * g)
        for g in range(1, 13)
    )


chosen = max(candidates, key=lambda name: candidates[name][0])
for name, (alpha, c) in candidates.items():
    print(f"{name:9} α = {alpha}, c = {c}: {best_speedup(alpha, c):.2f}x at best")
print("chosen by α:", chosen)
assert best_speedup(*candidates["quick"]) > best_speedup(*candidates["accurate"])


# %%
def rank(
    drafts: dict[str, tuple[float, float]], v_per_row: float = 0.04, largest: int = 12
) -> list[str]:
    """Return the names of the drafts, the fastest first, each at its best gamma in
    1..largest.

    drafts: name -> (alpha, c); verifying costs v = 1 + v_per_row * gamma; leave out
        drafts that never beat plain decoding

    Example: rank({"good": (0.9, 0.5), "quick": (0.7, 0.02)}) is ["quick", "good"]
    """

    # BEGIN SOLUTION
    def speedup(alpha: float, c: float, gamma: int) -> float:
        tau = sum(alpha**k for k in range(gamma + 1))
        return tau / (gamma * c + 1 + v_per_row * gamma)

    best = {
        name: max(speedup(a, c, g) for g in range(1, largest + 1))
        for name, (a, c) in drafts.items()
    }
    return [
        name for name in sorted(best, key=lambda name: -best[name]) if best[name] > 1
    ]
    # END SOLUTION


# %%
lesson.check("rank", rank)

# %%
rank = lesson.working("rank", rank)

# %% [markdown]
# Now the real drafts. We time plain decoding and the three drafts in turns: seconds per draft token, and per plain step.


# %%
def one_run(draft):
    """Write 48 tokens of the first story; without a draft if it is None."""
    return minispec.generate(
        prompts["stories"][0],
        target=target,
        draft=draft,
        gamma=4,
        temperature=0.0,
        max_tokens=48,
    ).metrics


made = interleave(
    {"plain": lambda: one_run(None)}
    | {name: (lambda model=model: one_run(model)) for name, model in drafts.items()},
    3,
)
times = Times(
    {
        name: [
            m.decode_s / m.num_steps
            if name == "plain"
            else m.draft_s / m.num_draft_tokens
            for m in runs
        ]
        for name, runs in made.items()
    }
)

# %%
costs = {name: times.median(name) / times.median("plain") for name in drafts}
for i, domain in enumerate(prompts):
    table = {name: (alphas[name][i], costs[name]) for name in drafts}
    for name, (a, c) in table.items():
        print(f"{domain:10} {name:16} α {a:.2f}  c {c:.3f}")
    print(
        f"{'':10} the fastest first: {', '.join(rank(table)) or 'none of them pays'}\n"
    )

# %%
cheapest = min(costs, key=costs.__getitem__)
times.conclude(
    f"the cheapest draft per token here: {cheapest}, c = {costs[cheapest]:.3f}"
)

# %% [markdown]
# ## 7.4 · A draft of any quality, at any price
#
# *7 minutes · ●●●*
#
# Real drafts come in a few sizes. For an experiment we want to turn one knob at a time. minispec has a *synthetic* draft: it
# reads the target's own distribution $p$ and mixes noise into it. Then Σ min(p, q) is exactly the wanted α at every position.
#
# **Write** the mixing for one distribution. Let the noise $r$ be uniform over `V` tokens, and $w$ its weight:
# $q = (1 - w)\,p + w\,r$. Then Σ min(p, q) = 1 − w · TV(p, r), where TV(p, r) = ½ Σ |p − r| is the total variation of lesson 5.


# %%
def with_acceptance(p: np.ndarray, alpha: float) -> np.ndarray:
    """Return q, shape [V], with sum(min(p, q)) = alpha, mixing p with the uniform
    distribution.

    Suppose that alpha is at least 1 - TV(p, uniform): then w is at most 1.
    """
    # BEGIN SOLUTION
    uniform = np.full(len(p), 1 / len(p))
    distance = np.abs(p - uniform).sum() / 2
    w = (1 - alpha) / distance if distance > 0 else 0.0
    return (1 - w) * p + w * uniform
    # END SOLUTION


# %%
lesson.check("with_acceptance", with_acceptance)

# %% [markdown]
# **Predict.** Two synthetic drafts: A has α = 0.9 and c = 0.4; B has α = 0.7 and c = 0.05. Which gives the higher speedup, each at
# its best γ? `"A"` or `"B"`

# %%
lesson.predict("which", "B")


# %%
def duel(c: float):
    """Draw the best speedup over α for a draft of this price."""
    alphas = [0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95]
    curves = {
        f"γ = {g}": [
            sum(a**k for k in range(g + 1)) / (g * c + 1 + 0.04 * g) for a in alphas
        ]
        for g in (1, 2, 4, 8)
    }
    return curves_figure(
        alphas,
        curves,
        f"α, at a price of c = {c} per draft token",
        "speedup",
        level=1.0,
    )


explore(duel, c=[0.01, 0.05, 0.2, 0.4])

# %% [markdown]
# **Look.** At c = 0.4 even a draft that is right nine times in ten gains less than one at c = 0.01 that is right every second time.

# %%
expensive, cheap = (
    max(sum(a**k for k in range(g + 1)) / (g * c + 1 + 0.04 * g) for g in (1, 2, 4, 8))
    for a, c in ((0.9, 0.4), (0.5, 0.01))
)
print(f"α = 0.9 at c = 0.4: {expensive:.2f}x; α = 0.5 at c = 0.01: {cheap:.2f}x")
assert expensive < cheap
a, b = best_speedup(0.9, 0.4), best_speedup(0.7, 0.05)
print(f"the two of the question: A {a:.2f}x, B {b:.2f}x")
assert f"{a:.2f}" == "1.48"
assert f"{b:.2f}" == "2.04"

# %% [markdown]
# The synthetic draft in the real engine, at two qualities. Look at the counts only: its own time means nothing.

# %%
for alpha in (0.5, 0.9):
    made = minispec.generate(
        prompts["stories"][0],
        target=target,
        draft=f"synthetic:alpha={alpha}",
        gamma=4,
        temperature=1.0,
        max_tokens=96,
        seed=3,
    )
    print(
        f"α = {alpha}: measured {made.metrics.alpha:.2f}, "
        f"{made.metrics.mean_acceptance_length:.2f} tokens per step, "
        f"formula {sum(alpha**k for k in range(5)):.2f}"
    )

# %% [markdown]
# ## 7.5 · Drafts without a model
#
# *8 minutes · ●●○*
#
# The cheapest draft of all is an *n-gram*: it looks for the last few tokens earlier in the text and proposes the tokens that followed
# them there. It has no parameters and takes nearly no time. When is that any good?
#
# **Predict.** For which of the three domains will it be accepted most often at temperature 0: `"stories"`, `"code"` or
# `"questions"`? There is no trick; think of which text repeats itself. Here every answer counts, and the picture decides.

# %%
ngram = [measure("ngram", domain) for domain in prompts]
laws_figure(
    {"ngram": np.array(ngram), **{name: np.array(v) for name, v in alphas.items()}},
    list(prompts),
    "α",
)


# %%
def propose(tokens: list[int], gamma: int, size: int = 2) -> list[int]:
    """Propose up to gamma tokens: find the latest earlier place where the last `size`
    tokens stood, return what followed.

    [] if there is no such place. An earlier place is one that ends before the text
    does.

    Example: propose([1, 2, 3, 9, 1, 2], 2) is [3, 9]
    """
    # BEGIN SOLUTION
    wanted = tokens[-size:]
    for start in range(len(tokens) - size - 1, -1, -1):
        if tokens[start : start + size] == wanted:
            return tokens[start + size : start + size + gamma]
    return []
    # END SOLUTION


# %%
lesson.check("propose", propose)

# %% [markdown]
# **Step through it.** Four drafts on one text, which may be yours; the slider changes the draft. The n-gram has no cache and no pass,
# and often proposes nothing. If it proposes, it puts all of q on one token.


# %%
def run(prompt: str, draft: str):
    """Record a short greedy run with one of the drafts."""
    return record(
        prompt,
        target=target,
        draft=drafts.get(draft, draft),
        gamma=4,
        temperature=0.0,
        max_tokens=16,
    )


explore(
    run,
    prompt="one red hen, two red hens, three red",
    draft=["draft-0.6m", "draft-1.6m", "ngram", "draft-1.6m-code"],
)

# %% [markdown]
# ## 7.6 · Where drafting fails
#
# *8 minutes · ●○○*
#
# **Why.** Must a draft that costs nothing help? The smallest draft of all is a table: count which token follows which. Ours is counted
# from stories that the target writes here, the minispec way: `TokenTable` counts, `TableDrafter` proposes. Its time is not counted.
# Only verifying its tokens costs something, 4 % per row as above.

# %%
told = [
    minispec.generate(
        prompt, target=target, draft=None, temperature=1.0, max_tokens=128, seed=number
    )
    for number, prompt in enumerate(prompts["stories"])
]
counted = [token for story in told for token in story.token_ids]
table = TableDrafter(
    TokenTable(counted, target.vocab_size, order=2), SamplingParams(temperature=0.0)
)


# %%
def count(domain: str) -> tuple[int, int, int]:
    """Return tokens, steps and draft tokens over the domain's prompts."""
    runs = [
        minispec.generate(
            prompt, target=target, draft=table, gamma=4, temperature=0.0, max_tokens=64
        ).metrics
        for prompt in prompts[domain]
    ]
    return (
        sum(m.num_decode_tokens for m in runs),
        sum(m.num_steps for m in runs),
        sum(m.num_draft_tokens for m in runs),
    )


gains = {}
for domain in prompts:
    num_tokens, steps, drafted = count(domain)
    gains[domain] = num_tokens / (steps + 0.04 * drafted)
    print(
        f"{domain:10} {num_tokens / steps:.2f} tokens per step, "
        f"speedup {gains[domain]:.2f}x"
    )

# %% [markdown]
# **Look.** On code this draft fails: the speedup is below 1, so plain decoding is faster. Free draft tokens still cost, because the
# target checks them, and a story-teller's guesses are almost never right there. On stories the same table is of more use. Whether a
# draft pays is a property of the draft *and of your text*. `minispec measure` tells you for yours.

# %%
assert gains["code"] < 1
assert gains["code"] < gains["stories"]

# %% [markdown]
# A draft can also be *broken*: a head of another model, another tokenizer, another chat format. The text stays right, so nobody notices;
# only nothing is accepted. The draft itself gives it away. q of the token that it drew says how sure it was, and one that knows its
# target is accepted at least about as often as it is sure; at temperature 1 mostly more often.


# %%
def seems_broken(qs: list[float], num_accepted: int) -> bool:
    """Say whether fewer tokens were accepted than 0.3 of what the draft promises.

    `qs` has the q of each judged draft token; their sum is the number it promises.
    Fewer than 100 judged tokens say nothing: then it does not seem broken.

    Example: seems_broken([0.6] * 100, 10) is True, as it promises 60
    """
    # BEGIN SOLUTION
    return len(qs) >= 100 and num_accepted < 0.3 * sum(qs)
    # END SOLUTION


# %%
lesson.check("seems_broken", seems_broken)

# %% [markdown]
# The reverse does not hold. A rule that accepts everything has the best acceptance of all, and the wrong distribution: no acceptance
# figure shows a broken *rule*. The laws of lesson 5 do, and `minispec generate --audit`.

# %% [markdown]
# ## What you can do now
#
# - Check that two models may work together at all.
# - Rank drafts by speedup instead of accuracy or size.
# - Build a draft of a given acceptance rate, and say when a draft without a model is enough.
# - Say why a draft should be measured on your own text, and recognise one that is broken.
#
# In the code base: `minispec/engine/drafters/` has one file per kind of draft, `docs/options.md` a runnable line for each.

# %% [markdown]
# ## References
#
# - Yan, Agarwal and Venkataraman, *Decoding Speculative Decoding*, NAACL 2025 (arXiv 2402.01528): latency of the draft against its accuracy.
# - Zhou et al., *DistillSpec: Improving Speculative Decoding via Knowledge Distillation*, ICLR 2024 (arXiv 2310.08461): making a draft agree with its target.
# - Saxena, *Prompt Lookup Decoding*, 2023 (github.com/apoorvumang/prompt-lookup-decoding): the draft of 7.5.

# %%
lesson.progress()
