# %% [markdown]
# # 5 · Rejection sampling: the proof, the picture, the enumeration
#
# A draft model proposes a token. The target would have drawn it from another distribution. Keep it or not? One rule keeps
# the target's distribution **exactly**, however bad the draft is; a bad draft only costs time. In this lesson you write
# the rule, prove it, and then check it over *every* branch of its randomness instead of sampling.
#
# About 44 minutes. You need lesson 4.

# %% [markdown]
# **If you only have ten minutes:** look at the picture in 5.1, answer the question of 5.2, and read the proof in 5.4.

# %%
import numpy as np

from minispec.course.teaching import begin, explore, record
from minispec.lab.viz.plots.theory import laws_figure, overlap_figure

lesson = begin("05")
lesson

# %% [markdown]
# ## 5.1 · Accept or reject
#
# *6 minutes · ●○○*
#
# **Why.** Let $p$ be the target's distribution of the next token and $q$ the draft's, both of shape `[V]`. The draft has
# drawn $x$ from $q$. If $p(x) \ge q(x)$, the draft proposes $x$ too rarely: never turn it away. If $p(x) < q(x)$, it proposes
# $x$ too often: keep only the share $p(x)/q(x)$.
#
# $$P(\text{accept } x) = \min\left(1, \frac{p(x)}{q(x)}\right)$$

# %%
p = np.array([0.5, 0.3, 0.2])
q = np.array([0.2, 0.3, 0.5])

# %% [markdown]
# **Predict.** With these two, how likely is it that a drafted token is accepted? (The token is drawn from `q`, then
# accepted or not.)

# %%
lesson.predict("acceptance", 0.7)

# %% [markdown]
# **Look.** Blue is what the two distributions share: that is accepted. Hatched is where the draft has more than the target:
# that is rejected. Orange is where the target has more than the draft: something else has to supply it.

# %%
overlap_figure(p, q, ["cat", "dog", "fox"])


# %% [markdown]
# **Write** the decision. `u` is uniform on [0, 1): randomness comes in as an argument, so that the function is exact to test.


# %%
def accept(target_prob: float, draft_prob: float, u: float) -> bool:
    """Return whether a drafted token is kept.

    target_prob, draft_prob: p(x) and q(x); q(x) > 0, or x could not have been drawn
    u: uniform on [0, 1)

    Example: accept(0.2, 0.5, 0.39) is True, accept(0.2, 0.5, 0.41) is False
    """
    # BEGIN SOLUTION
    return u < min(1.0, target_prob / draft_prob)
    # END SOLUTION


# %%
lesson.check("accept", accept)

# %% [markdown]
# ## 5.2 · What comes instead
#
# *6 minutes · ●●○*
#
# **Why.** A rejected token must be replaced, or the text would be too short. By what? The accepted tokens follow $\min(p, q)$,
# which sums to less than 1. What is missing up to $p$ is $\max(p - q, 0)$, and normalised it is a distribution: the
# **residual**.
#
# **Predict.** Someone writes: "after a rejection simply draw from $p$, the target's own distribution". Does the output still
# follow $p$? Answer `"yes"` or `"no"`.

# %%
lesson.predict("from_p", "no")


# %%
def residual(target_probs: np.ndarray, draft_probs: np.ndarray) -> np.ndarray:
    """Return normalise(max(p - q, 0)), shape [V].

    Where nothing is left (p equals q) return p: nothing can be rejected then.

    Example: residual([.5, .3, .2], [.2, .3, .5]) is [1, 0, 0]
    """
    # BEGIN SOLUTION
    positive = np.maximum(target_probs - draft_probs, 0.0)
    mass = positive.sum()
    return positive / mass if mass > 0 else target_probs.copy()
    # END SOLUTION


# %%
lesson.check("residual", residual)

# %% [markdown]
# Stuck? `lesson.hint("residual")` gives one hint at a time, and after an attempt `lesson.solution("residual")` shows ours. The
# rest of the lesson runs with ours while yours is not there yet:

# %%
accept = lesson.working("accept", accept)
residual = lesson.working("residual", residual)

# %% [markdown]
# ## 5.3 · The whole rule
#
# *5 minutes · ●●○*
#
# `draw` turns a uniform number into a token by the cumulative distribution. Write the rule with it.


# %%
def draw(probs: np.ndarray, u: float) -> int:
    """Return the first token whose cumulative probability is above u."""
    return int(
        min(
            np.searchsorted(np.cumsum(probs), u, side="right"),
            np.flatnonzero(probs)[-1],
        )
    )


# %%
def judge(
    target_probs: np.ndarray,
    draft_probs: np.ndarray,
    token: int,
    u_accept: float,
    u_next: float,
) -> int:
    """Return the token that comes out when the draft has proposed `token`.

    u_accept decides whether it is kept; u_next, if needed, draws what comes instead.
    """
    # BEGIN SOLUTION
    if accept(target_probs[token], draft_probs[token], u_accept):
        return token
    return draw(residual(target_probs, draft_probs), u_next)
    # END SOLUTION


# %%
lesson.check("judge", judge)

# %%
judge = lesson.working("judge", judge)

# %% [markdown]
# ## 5.4 · The proof, in two lines
#
# *6 minutes · ●●●*
#
# A token $x$ comes out in one of two ways:
#
# 1. drafted **and** accepted: $q(x)\,\min(1, p(x)/q(x)) = \min(p(x), q(x))$;
# 2. something was rejected, probability $1 - \sum_y \min(p(y), q(y))$, **and** the residual gave $x$. The normaliser of the
#    residual is $\sum_y \max(p(y) - q(y), 0)$, which is that same probability. What remains is $\max(p(x) - q(x), 0)$.
#
# $$\min(p, q) + \max(p - q, 0) = p \qquad\blacksquare$$
#
# **Write** the two ways as the two rows of an array; their sum is what comes out.


# %%
def two_ways(target_probs: np.ndarray, draft_probs: np.ndarray) -> np.ndarray:
    """Return how each token comes out, shape [2, V].

    Row 0: the probability that it is drafted and accepted.
    Row 1: the probability that something is rejected and the residual gives it.
    """
    # BEGIN SOLUTION
    accepted = np.minimum(target_probs, draft_probs)
    rejected = 1.0 - accepted.sum()
    return np.array([accepted, rejected * residual(target_probs, draft_probs)])
    # END SOLUTION


# %%
lesson.check("two_ways", two_ways)

# %%
two_ways = lesson.working("two_ways", two_ways)
ways = two_ways(p, q)
assert np.allclose(ways.sum(axis=0), p)
laws_figure(
    {"target p": p, "accepted": ways[0], "from the residual": ways[1]},
    ["cat", "dog", "fox"],
)

# %% [markdown]
# ## 5.5 · Do not sample: enumerate
#
# *5 minutes · ●●○*
#
# **Why.** To test a sampler one could draw a million tokens and compare frequencies. That test is slow, it sometimes fails
# by bad luck, and small errors hide in the noise. But a rule that asks only "yes or no, with this probability?" and "which
# token, from this distribution?" is a *finite tree*. Walk all of it, multiply the probabilities along each path, and you
# have the exact distribution. minispec does that with the real engine, not with a copy: something stands in for the noise
# and replays the program over every branch. First the plausible mistake, as a program that asks questions.

# %%
from minispec.engine.laws import Enumerator
from minispec.engine.noise import Address, Noise


def from_p(noise: Noise) -> int:
    """Draft, accept or reject; a rejected token is replaced from p."""
    token = noise.categorical(q, Address("draft", 0))
    if noise.bernoulli(min(1.0, p[token] / q[token]), Address("accept", 0)):
        return token
    return noise.categorical(p, Address("residual", 0))


def law_of(program) -> np.ndarray:
    """Walk every branch of a program; return the law of what it returns."""
    law = Enumerator(program).law()
    return np.array([law.get(token, 0.0) for token in range(3)])


wrong = law_of(from_p)
print("replaced from p:", wrong, " p itself:", p)
assert wrong[0] < p[0]
assert wrong[2] > p[2]
laws_figure({"target p": p, "replaced from p": wrong}, ["cat", "dog", "fox"])

# %% [markdown]
# **Look.** That is the mistake of 5.2, **wrong first**: "cat" comes out too rarely and "fox" too often. The draft's favourite
# gets a second chance it should not have. A reader of the text would never notice. An evaluation would. Mended, with your
# residual:


# %%
def one_token(noise: Noise) -> int:
    """The rule as a program that asks questions."""
    token = noise.categorical(q, Address("draft", 0))
    if noise.bernoulli(min(1.0, p[token] / q[token]), Address("accept", 0)):
        return token
    return noise.categorical(residual(p, q), Address("residual", 0))


exact = law_of(one_token)
print(f"total variation from p: mended {abs(exact - p).sum() / 2:.1e}")
print(f"                 wrong first {abs(wrong - p).sum() / 2:.3f}")
assert np.allclose(exact, p, rtol=0, atol=1e-15)

# %% [markdown]
# ## 5.6 · From one token to a whole text
#
# *8 minutes · ●●●*
#
# **Why.** So far the rule makes *one* token right. A round drafts several, and a text takes many rounds. Why is the whole text
# right? By induction, along the text:
#
# 1. Say that everything up to some place has the target's law. The next token there is made by the rule, with $p$ and $q$ *for
#    exactly that prefix*: row $i$ of the target's pass has read the prompt and the first $i$ drafts. By 5.4 it has the law $p$,
#    given the prefix. So everything up to the next place has the target's law.
# 2. After a rejection the rest of the draft is thrown away: it would continue another prefix. Row $i$ is used only if the drafts
#    before $i$ are really in the text.
# 3. If all $\gamma$ drafts are accepted, row $\gamma$ is left. It has read the whole draft, so drawing from it is plain sampling:
#    the **bonus** token. There is no $q$ for it, and so nothing to reject.
#
# That a round ends where it does depends on coins that are already spent. It must not depend on coins to come; lesson 8 shows
# what happens otherwise. Let us enumerate a text of three tokens, in rounds of two drafts.


# %%
def target_row(text: tuple[int, ...]) -> np.ndarray:
    """The target after a text of zeros and ones: it likes an odd number of ones."""
    return np.array([0.3, 0.7]) if sum(text) % 2 == 0 else np.array([0.8, 0.2])


def draft_row(text: tuple[int, ...]) -> np.ndarray:
    """The draft: it looks at the last letter only."""
    return np.array([0.6, 0.4]) if text and text[-1] else np.array([0.5, 0.5])


def three_letters(noise: Noise, *, bonus_row: int) -> tuple[int, ...]:
    """Make rounds of two drafts until three letters are there."""
    text: tuple[int, ...] = ()
    while len(text) < 3:
        start, accepted = text, 0
        for _ in range(2):
            p, q = target_row(text), draft_row(text)
            place = len(text)
            token = noise.categorical(q, Address("draft", place))
            if not noise.bernoulli(
                min(1.0, p[token] / q[token]), Address("accept", place)
            ):
                token = noise.categorical(residual(p, q), Address("residual", place))
                text = (*text, token)
                break
            text, accepted = (*text, token), accepted + 1
        if accepted == 2:  # which row gives the bonus?
            row = target_row((*start, *text[len(start) :][:bonus_row]))
            text = (*text, noise.categorical(row, Address("bonus", len(text))))
    return text[:3]


texts = [(a, b, c) for a in (0, 1) for b in (0, 1) for c in (0, 1)]
plain = np.array([np.prod([target_row(t[:i])[t[i]] for i in range(3)]) for t in texts])
for name, row in (("row γ", 2), ("row γ − 1", 1)):
    law = Enumerator(lambda noise, r=row: three_letters(noise, bonus_row=r)).law()
    found = np.array([law.get(t, 0.0) for t in texts])
    distance = abs(found - plain).sum() / 2
    print(f"bonus from {name:9} total variation from the target {distance:.4f}")
    assert (distance < 1e-12) == (row == 2)

# %% [markdown]
# **Look.** With the bonus from row γ the eight texts have exactly the target's probabilities. With the row before it, the
# commonest mistake in this loop, the text is another one: that row has not read the last draft.
#
# ## 5.7 · Step through a run
#
# *4 minutes · ●○○*
#
# The pair that comes with minispec, in the real engine, on a prompt of yours. The buttons, or the arrow keys after a click on the
# picture, go back and forth: the draft draws from q; the target judges one draft after the other; what is rejected is replaced
# from the residual; the round is added to the text. The scale of the bars is the same throughout. Another seed throws other coins.

# %%
import minispec

target, draft = minispec.load_model("target-17m"), minispec.load_model("draft-1.6m")


def run(prompt: str, seed: int):
    """Record a short run at temperature 1."""
    return record(
        prompt,
        target=target,
        draft=draft,
        gamma=3,
        temperature=1.0,
        max_tokens=8,
        seed=seed,
    )


explore(run, prompt="Once upon a time there was a little", seed=list(range(10)))

# %% [markdown]
# ## 5.8 · Play
#
# *4 minutes · ●○○*
#
# How does the picture change as the draft gets worse? At `sharpness` 0 the draft has it the wrong way round; at 1 it is the
# target.


# %%
def drafts(sharpness: float):
    """Draw p against a draft that mixes p with its own reverse."""
    target = np.array([0.4, 0.25, 0.15, 0.1, 0.06, 0.04])
    draft = sharpness * target + (1 - sharpness) * target[::-1]
    return overlap_figure(target, draft)


explore(drafts, sharpness=[0.0, 0.25, 0.5, 0.75, 1.0])

# %% [markdown]
# The output law is `p` in every one of these pictures. Only the acceptance changes, and with it the speed: that is lesson 6.
#
# In the code base: `minispec/engine/verifiers/rejection.py` is this lesson in 30 lines, and `minispec/engine/laws/enumerator.py` is
# 5.5.

# %% [markdown]
# ## References
#
# - Leviathan, Kalman and Matias, *Fast Inference from Transformers via Speculative Decoding*, ICML 2023 (arXiv 2211.17192): the rule, this proof in appendix A.1, and in A.2 what sets it apart from rejection sampling as textbooks have it.
# - Chen et al., *Accelerating Large Language Model Decoding with Speculative Sampling*, 2023 (arXiv 2302.01318): the same rule, found independently.
# - von Neumann, *Various Techniques Used in Connection with Random Digits*, National Bureau of Standards, Applied Mathematics Series 12, 1951: rejection sampling.

# %%
lesson.progress()
