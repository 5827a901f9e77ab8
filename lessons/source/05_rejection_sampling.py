# %% [markdown]
# # 5 · Rejection sampling: the proof, the picture, the enumeration
#
# **A small model guesses a token. The target would have drawn it from another distribution. May you keep the guess?**
#
# If you always keep it, you get the small model's text. If you never keep it, you gain nothing. One rule in between keeps the
# target's distribution **exactly**, however bad the draft is; a bad draft only costs time. In this lesson you write the rule,
# prove it, and check it over *every* branch of its randomness instead of sampling.
#
# About 46 minutes. You need lesson 4.
#
# **If you only have ten minutes:** look at the two pictures at the top, answer the question of 5.2, and read the proof in 5.4.

# %%
import numpy as np

from minispec.course.teaching import begin, explore, record
from minispec.lab.viz.plots.theory import branches_figure, laws_figure, overlap_figure

lesson = begin("05")
lesson

# %%
names = ["cat", "dog", "fox"]
p = np.array([0.5, 0.3, 0.2])  # the target's probabilities of the next token
q = np.array([0.2, 0.3, 0.5])  # the draft's
accept_everything = q  # every guess is drawn from q, and every guess is kept
laws_figure(
    {"target p: wanted": p, "accept everything: you get": accept_everything}, names
)

# %% [markdown]
# **Wrong first.** Two bars of a token should be equally high, and they are not. If you accept everything, "fox" comes out far
# too often and "cat" too rarely: the text is the draft's.
#
# ## 5.1 · Accept or reject
#
# *6 minutes · ●○○*
#
# **Why.** Let $p$ be the target's distribution of the next token and $q$ the draft's, both of shape `[V]`. The draft has
# drawn $x$ from $q$.
#
# - If $p(x) \ge q(x)$, the draft guesses $x$ too rarely. Never reject it.
# - If $p(x) < q(x)$, the draft guesses $x$ too often. Accept only the share $p(x)/q(x)$.
#
# $$P(\text{accept } x) = \min\left(1, \frac{p(x)}{q(x)}\right)$$
#
# **Predict.** Take the two distributions above. How likely is it that a draft token is accepted? (The token is drawn from
# `q`, then accepted or not.)

# %%
lesson.predict("acceptance", 0.7)

# %%
overlap_figure(p, q, names)

# %% [markdown]
# **Look.** Blue is what the two distributions share: that is accepted. Hatched is where the draft has more than the target:
# that is rejected. Orange is where the target has more than the draft: something else has to supply it.
#
# **Write** the decision. `u` is uniform on [0, 1): randomness comes in as an argument, so that the function is exact to test.


# %%
def accept(target_prob: float, draft_prob: float, u: float) -> bool:
    """Return whether a draft token is accepted.

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
# The next cell takes your two functions if they are right, and ours if they are not. Either way the lesson goes on.

# %%
accept = lesson.working("accept", accept)
residual = lesson.working("residual", residual)

# %% [markdown]
# ## 5.3 · The whole rule
#
# *5 minutes · ●●○*
#
# `draw` turns a uniform number into a token: it walks along the sums of the probabilities until they exceed the number.
# **Write** the rule with `accept`, `residual` and `draw`.


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

    u_accept decides whether it is accepted; u_next, if needed, draws what comes
        instead.
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
#    residual is $\sum_y \max(p(y) - q(y), 0)$. That is the same probability, because $\max(p - q, 0) = p - \min(p, q)$ and $p$
#    sums to 1. The two cancel, and $\max(p(x) - q(x), 0)$ remains.
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
    names,
)

# %% [markdown]
# ## 5.5 · Do not sample: enumerate
#
# *7 minutes · ●●○*
#
# **Why.** To test a sampler you could draw a million tokens and compare frequencies. That test is slow, it sometimes fails by
# bad luck, and small errors hide in the noise. But the rule asks only two kinds of questions: "yes or no, with this
# probability?" and "which token, from this distribution?" All its answers together are a *finite tree*. Here it is, for
# the rule with our three tokens. The probability of a leaf is the product along its path.

# %%
tree = {}
for x, name in enumerate(names):
    chance = min(1.0, p[x] / q[x])
    instead = {
        f"instead {names[y]}": (share, {})
        for y, share in enumerate(residual(p, q))
        if share > 0
    }
    tree[f"draft {name}"] = (
        q[x],
        {"accept": (chance, {}), "reject": (1 - chance, instead)},
    )
branches_figure(tree)

# %% [markdown]
# **Look.** "Cat" comes out at two leaves: drafted and accepted, 0.2, or in place of a rejected "fox", 0.3. Together 0.5, which
# is p. Check "fox" yourself.
#
# A program can walk such a tree for us, if it may answer the questions. So we write the rule as a function that gets the
# source of randomness, `noise`, as an argument:
#
# - `noise.categorical(probs, address)` returns a token, drawn from `probs`;
# - `noise.bernoulli(chance, address)` returns True with that chance.
#
# The address is a name for the question. Here we need three: `Address("draft", 0)`, `Address("accept", 0)` and
# `Address("residual", 0)`. (The 0 is the position in the text.) First the mistake of 5.2:

# %%
from minispec.engine.laws import Enumerator
from minispec.engine.noise import Address, Noise


def from_p(noise: Noise, p: np.ndarray, q: np.ndarray) -> int:
    """Draft, accept or reject; a rejected token is replaced from p."""
    token = noise.categorical(q, Address("draft", 0))
    if noise.bernoulli(min(1.0, p[token] / q[token]), Address("accept", 0)):
        return token
    return noise.categorical(p, Address("residual", 0))


def law_of(program) -> np.ndarray:
    """Run a program over every branch; return the probability of each token."""
    law = Enumerator(lambda noise: program(noise, p, q)).law()
    return np.array([law.get(token, 0.0) for token in range(len(p))])


wrong = law_of(from_p)
print("replaced from p:", wrong, " p itself:", p)
assert wrong[0] < p[0]
assert wrong[2] > p[2]
laws_figure({"target p": p, "replaced from p": wrong}, names)

# %% [markdown]
# **Look.** "Cat" comes out too rarely and "fox" too often: the draft's favourite gets a second chance. A reader of the text
# would never notice. An evaluation would. **Write** the right program:


# %%
def one_token(noise: Noise, p: np.ndarray, q: np.ndarray) -> int:
    """Return the next token: the rule as a program that asks `noise`.

    Use each of the addresses above at most once.
    """
    # BEGIN SOLUTION
    token = noise.categorical(q, Address("draft", 0))
    if noise.bernoulli(min(1.0, p[token] / q[token]), Address("accept", 0)):
        return token
    return noise.categorical(residual(p, q), Address("residual", 0))
    # END SOLUTION


# %%
lesson.check("one_token", one_token)

# %%
one_token = lesson.working("one_token", one_token)
exact = law_of(one_token)
for name, law in (("yours", exact), ("replaced from p", wrong), ("accept all", q)):
    print(f"{name:16} total variation from p: {abs(law - p).sum() / 2:.1e}")
assert np.allclose(exact, p, rtol=0, atol=1e-15)

# %% [markdown]
# The total variation is half the sum of the differences: 0 if two distributions are equal, 1 if they share nothing. minispec's tests
# walk the tree of the real engine in the same way.
#
# ## 5.6 · From one token to a whole text
#
# *8 minutes · ●●●*
#
# **Why.** So far the rule makes *one* token right. A step drafts several tokens, and a text takes many steps. Why is the whole
# text right? By induction, along the text:
#
# 1. Say that the text up to some position has the target's distribution. The rule makes the next token, with $p$ and $q$
#    *for exactly that prefix*: row $i$ of the target's pass has read the prompt and the first $i$ draft tokens. By 5.4 the
#    token has the distribution $p$, given the prefix. So the text up to the next position has the target's distribution.
# 2. After a rejection the rest of the draft is thrown away: it would continue another prefix. Row $i$ is used only if the
#    draft tokens before $i$ are really in the text.
# 3. If all $\gamma$ draft tokens are accepted, row $\gamma$ is left. It has read the whole draft, so drawing from it is plain
#    sampling: the **bonus** token. There is no $q$ for it, and so nothing to reject.
#
# Where a step ends depends on random draws of the past. It must not depend on draws to come; lesson 8 shows what happens
# otherwise. Let us enumerate a text of three letters, in steps of two draft tokens. First two tiny models:


# %%
def target_row(text: tuple[int, ...]) -> np.ndarray:
    """The target after a text of zeros and ones: it likes an odd number of ones."""
    return np.array([0.3, 0.7]) if sum(text) % 2 == 0 else np.array([0.8, 0.2])


def draft_row(text: tuple[int, ...]) -> np.ndarray:
    """The draft: it looks at the last letter only."""
    return np.array([0.6, 0.4]) if text and text[-1] else np.array([0.5, 0.5])


# %% [markdown]
# Now the loop. `bonus_row` says which of the target's rows gives the bonus token: 2 is right, 1 is the usual mistake.


# %%
def three_letters(noise: Noise, *, bonus_row: int) -> tuple[int, ...]:
    """Make steps of two draft tokens until three letters are there."""
    text: tuple[int, ...] = ()
    while len(text) < 3:
        start, accepted = len(text), 0
        while accepted < 2:
            p, q, at = target_row(text), draft_row(text), len(text)
            token = noise.categorical(q, Address("draft", at))
            if not noise.bernoulli(
                min(1.0, p[token] / q[token]), Address("accept", at)
            ):
                token = noise.categorical(residual(p, q), Address("residual", at))
                text = (*text, token)
                break
            text, accepted = (*text, token), accepted + 1
        if accepted == 2:
            row = target_row(text[: start + bonus_row])
            text = (*text, noise.categorical(row, Address("bonus", len(text))))
    return text[:3]


texts = [(a, b, c) for a in (0, 1) for b in (0, 1) for c in (0, 1)]
plain = np.array([np.prod([target_row(t[:i])[t[i]] for i in range(3)]) for t in texts])

# %%
found = {}
for name, row in (("row γ", 2), ("row γ − 1", 1)):
    law = Enumerator(lambda noise, r=row: three_letters(noise, bonus_row=r)).law()
    found[f"bonus from {name}"] = np.array([law.get(text, 0.0) for text in texts])
    distance = abs(found[f"bonus from {name}"] - plain).sum() / 2
    print(f"bonus from {name:9} total variation from the target {distance:.4f}")
    assert (distance < 1e-12) == (row == 2)
laws_figure({"target": plain, **found}, ["".join(map(str, text)) for text in texts])

# %% [markdown]
# **Look.** With the bonus from row γ the eight texts have exactly the target's probabilities. With the row before it, the most
# common mistake in this loop, the text is another one: that row has not read the last draft token.
#
# ## 5.7 · Step through a run
#
# *4 minutes · ●○○*
#
# The pair that comes with minispec, in the real engine, on a prompt of yours. Use the buttons, or click on the picture and use
# the arrow keys. The draft draws from q; the target accepts or rejects one draft token after the other; the residual replaces
# a rejected token; the step's tokens join the text. Every picture has the same scale. Another seed gives other random draws.

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
# **Test it on the real models.** [This run on the page in your browser](http://127.0.0.1:8000/#prompt=Once+upon+a+time+there+was+a+little&draft=draft-1.6m&rule=rejection&gamma=3&temperature=1&max_tokens=8&seed=3):
# press *Draw*, then choose a wrong rule and draw again. In Jupyter, first run `minispec page -o page` and
# `python -m http.server -d page` in a terminal.
#
# ## 5.8 · Play
#
# *4 minutes · ●○○*
#
# How does the picture change when the draft gets worse? At `sharpness` 1 the draft is the target. At 0 it is the target's
# reverse.


# %%
def drafts(sharpness: float):
    """Draw p against a draft that mixes p with its own reverse."""
    target = np.array([0.4, 0.25, 0.15, 0.1, 0.06, 0.04])
    draft = sharpness * target + (1 - sharpness) * target[::-1]
    return overlap_figure(target, draft)


explore(drafts, sharpness=[0.0, 0.25, 0.5, 0.75, 1.0])

# %% [markdown]
# The output distribution is `p` in every one of these pictures. Only the acceptance changes, and with it the speed: that is
# lesson 6.

# %% [markdown]
# ## What you can do now
#
# - Write the accept-or-reject rule and its residual, and say why neither "accept everything" nor "draw again from p" works.
# - Prove in two lines that the rule keeps p, and say why a whole text follows.
# - Test a random program exactly, by walking all its branches.
#
# In the code base: `minispec/engine/verifiers/rejection.py` is this lesson in 30 lines, and
# `minispec/engine/laws/enumerator.py` is 5.5. Next: when does it pay? Lesson 6.

# %% [markdown]
# ## References
#
# - Leviathan, Kalman and Matias, *Fast Inference from Transformers via Speculative Decoding*, ICML 2023 (arXiv 2211.17192): the rule, this proof in appendix A.1, and in A.2 what sets it apart from rejection sampling as textbooks have it.
# - Chen et al., *Accelerating Large Language Model Decoding with Speculative Sampling*, 2023 (arXiv 2302.01318): the same rule, found independently.
# - von Neumann, *Various Techniques Used in Connection with Random Digits*, National Bureau of Standards, Applied Mathematics Series 12, 1951: rejection sampling.

# %%
lesson.progress()
