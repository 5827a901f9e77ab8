# %% [markdown]
# # 4 · Draft and verify, by hand
#
# A small model proposes a few tokens. The large model reads all of them **in one pass** and keeps those it would have
# chosen itself. In this lesson everything is greedy: each model has one favourite, and there is no randomness yet. You write
# the decision and the loop, and see that the text is the large model's own, letter by letter.
#
# About 30 minutes. You need lessons 1 and 2.

# %%
import numpy as np

import minispec
from minispec.teaching import begin
from minispec.viz.html import Fates
from minispec.viz.plots.curves import curves_figure
from minispec.viz.plots.timeline import timeline_figure

lesson = begin("04")
target = minispec.load_model("target-17m")
draft = minispec.load_model("draft-1.6m")
target.backend.warm_up()
lesson

# %% [markdown]
# ## 4.1 · One round, token by token
#
# The draft runs a few steps on its own. That is cheap: it is ten times smaller.

# %%
prompt = target.tokenizer.encode("Once upon a time there was a little girl who")
gamma = 4

drafted = []
for _ in range(gamma):
    drafted.append(int(np.argmax(draft.logits([*prompt, *drafted])[-1])))
print("drafted:", [target.tokenizer.decode([token]) for token in drafted])

# %% [markdown]
# Now the target reads prompt **and** draft in one pass. A forward returns a row of scores after *every* position, so the one
# pass answers several questions: what comes after the prompt? after the prompt and one draft? and so on.
#
# **Predict.** Four drafted tokens: how many of the target's rows are of use?

# %%
lesson.predict("rows", 5)

# %%
rows = target.logits([*prompt, *drafted])[-(gamma + 1) :]
choices = [int(token) for token in rows.argmax(axis=-1)]
for i, token in enumerate(choices):
    before = target.tokenizer.decode([*prompt[-2:], *drafted[:i]])
    theirs = repr(target.tokenizer.decode([drafted[i]])) if i < gamma else "(nothing drafted)"
    print(f"after …{before!r:34} the target says {target.tokenizer.decode([token])!r:10} draft: {theirs}")

# %% [markdown]
# ## 4.2 · The decision
#
# **Why.** Row 0 says what the target wants instead of `drafted[0]`; if they agree, row 1 may speak about `drafted[1]`; and so
# on. At the first disagreement the target's own token is taken, and the rest of the draft is worthless: it continues a text
# that does not exist. If all agree, one row is left over, and its token comes for free: the **bonus**.
#
# So a round always yields at least one token, and at most `gamma + 1`.


# %%
def decide(drafted: list[int], choices: list[int]) -> tuple[int, int]:
    """Return how many drafts are accepted, and the target's token that follows them.

    drafted: G tokens; choices: G + 1 tokens, choices[i] is the target's favourite after i drafts

    Example: decide([5, 6, 7], [5, 9, 7, 1]) is (1, 9)
    """
    # BEGIN SOLUTION
    accepted = 0
    while accepted < len(drafted) and drafted[accepted] == choices[accepted]:
        accepted += 1
    return accepted, choices[accepted]
    # END SOLUTION


# %%
lesson.check("decide", decide)

# %%
lesson.hint("decide")

# %%
decide = lesson.working("decide", decide)
accepted, following = decide(drafted, choices)
print(f"{accepted} accepted, then {target.tokenizer.decode([following])!r}")

# %% [markdown]
# ## 4.3 · The loop
#
# **Why.** Round after round until there is enough text. Mind the end: a round may yield more tokens than are still wanted.
# Drafting fewer tokens in the last round is the clean way: a round of `g` drafts yields at most `g + 1`.
#
# **Predict.** 10 tokens are wanted in all, 8 are there. What is the largest useful draft in this round?

# %%
lesson.predict("last_round", 1)


# %%
def speculate(propose, choose, prompt: list[int], gamma: int, num_tokens: int) -> tuple[list[int], int]:
    """Return the num_tokens new tokens, and how many times the target was asked.

    propose(tokens, g): the draft's next g tokens, a list
    choose(tokens, drafted): the target's len(drafted) + 1 favourites, in one pass
    """
    new: list[int] = []
    rounds = 0
    # BEGIN SOLUTION
    while len(new) < num_tokens:
        tokens = [*prompt, *new]
        drafted = propose(tokens, min(gamma, num_tokens - len(new) - 1))
        accepted, following = decide(drafted, choose(tokens, drafted))
        new += [*drafted[:accepted], following]
        rounds += 1
    return new, rounds
    # END SOLUTION


# %%
lesson.check("speculate", speculate)

# %%
speculate = lesson.working("speculate", speculate)


def propose(tokens: list[int], g: int) -> list[int]:
    """The draft model, greedy. (Without a cache, to keep it short.)"""
    new: list[int] = []
    for _ in range(g):
        new.append(int(np.argmax(draft.logits([*tokens, *new])[-1])))
    return new


def choose(tokens: list[int], drafted: list[int]) -> list[int]:
    """The target, greedy, in one pass."""
    return target.logits([*tokens, *drafted])[-len(drafted) - 1 :].argmax(axis=-1).tolist()


plain, _ = speculate(lambda tokens, g: [], choose, prompt, 0, 24)
fast, rounds = speculate(propose, choose, prompt, 4, 24)
print(target.tokenizer.decode(fast))
print(f"{len(fast)} tokens in {rounds} target passes; the same tokens as without a draft: {fast == plain}")

# %% [markdown]
# ## 4.4 · The real engine
#
# minispec does the same with caches, and keeps a record of every round. One line per target pass: blue was drafted and
# accepted, struck through was rejected, the last token of each line is the target's own.

# %%
made = minispec.generate(
    "Once upon a time there was a little girl who", target=target, draft=draft, gamma=4, temperature=0.0, max_tokens=40
)
Fates(made.steps, target.tokenizer.decode)

# %% [markdown]
# **Look.** Where is the draft right, and where does it fail? Function words and the ends of words are easy; the choice of a noun
# is hard. The same in time: orange is the draft, blue the target, the numbers count tokens.

# %%
alone, together = (
    minispec.generate(
        "Once upon a time there was a little girl who", target=target, draft=d, gamma=4, temperature=0.0, max_tokens=40
    )
    for d in (None, draft)  # the draft once more: its very first run is slower than all others
)
assert alone.token_ids == together.token_ids == made.token_ids
timeline_figure(alone.steps, together.steps)

# %% [markdown]
# ## 4.5 · How far to draft?
#
# **Predict.** Let `gamma` grow from 1 to 10. Does the number of tokens per target pass grow without limit? `"yes"` or `"no"`

# %%
lesson.predict("limit", "no")

# %%
gammas = list(range(1, 11))
runs = {
    g: minispec.generate(
        "Once upon a time there was a little girl who",
        target=target,
        draft=draft,
        gamma=g,
        temperature=0.0,
        max_tokens=60,
    )
    for g in gammas
}
curves_figure(
    gammas,
    {
        "tokens per target pass": [len(runs[g].token_ids) / len(runs[g].steps) for g in gammas],
        "the most there could be, γ + 1": [g + 1.0 for g in gammas],
    },
    "γ, drafted tokens per round",
    "tokens",
)


# %%
def per_pass(num_tokens: int, num_accepted: int) -> float:
    """Return tokens per target pass, given all emitted tokens and how many of them were accepted drafts.

    Every pass emits exactly one token of its own (nothing was cut).
    """
    # BEGIN SOLUTION
    return num_tokens / (num_tokens - num_accepted)
    # END SOLUTION


# %%
lesson.check("per_pass", per_pass)

# %% [markdown]
# In the code base: `minispec/generation/speculative.py` is the loop, with caches and randomness. Randomness is lesson 5.

# %%
lesson.progress()
