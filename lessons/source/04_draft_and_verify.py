# %% [markdown]
# # 4 · Draft and verify, by hand
#
# **Can a small model make a large one faster without changing a letter of its text?**
#
# The small model guesses a few tokens. The large one reads all of them **in one pass** and keeps those that it would have chosen
# itself. In this lesson everything is greedy: each model has one favourite, and there is no randomness yet. You write the
# decision and the loop, and see that the text is the large model's own, letter by letter.
#
# About 35 minutes. You need lessons 1 and 2.
#
# **If you only have ten minutes:** run 4.1, write `decide` in 4.2, and read 4.6.

# %%
import numpy as np

import minispec
from minispec.course.teaching import begin, explore, record
from minispec.engine.markup import Fates
from minispec.lab.viz.plots.runs import timeline_figure
from minispec.lab.viz.plots.theory import curves_figure

lesson = begin("04")
target = minispec.load_model("target-17m")
draft = minispec.load_model("draft-1.6m")
target.backend.warm_up()
lesson

# %%
made = minispec.generate(
    "Once upon a time there was a little girl who",
    target=target,
    draft=draft,
    gamma=4,
    temperature=0.0,
    max_tokens=40,
)
Fates(made.steps, target.tokenizer.decode)

# %% [markdown]
# **Look.** Each line is one pass of the large model. Blue tokens are guesses of the small one that were accepted. What is struck
# through was rejected; grey tokens after a rejection were never tested. The last token of each line is the large model's own. How
# many tokens does a pass yield here? Without guesses it would be one. (The first line is the pass over the prompt.)
#
# **Race it.** [This run on the page in your browser](http://127.0.0.1:8000/#prompt=Once+upon+a+time+there+was+a+little+girl+who&draft=draft-1.6m&rule=rejection&gamma=4&temperature=0&max_tokens=40&seed=1):
# press *Race*. In Jupyter, first run `minispec page -o page` and `python -m http.server -d page` in a terminal.
#
# ## 4.1 · One step, token by token
#
# *5 minutes · ●○○*
#
# The large model is called the *target*, the small one the *draft model*. First the draft model runs a few times on its own. That is
# cheap: it is ten times smaller.

# %%
prompt = target.tokenizer.encode("Once upon a time there was a little girl who")
gamma = 4

drafted = []
for _ in range(gamma):
    drafted.append(int(np.argmax(draft.logits([*prompt, *drafted])[-1])))
print("drafted:", [target.tokenizer.decode([token]) for token in drafted])

# %% [markdown]
# Now the target reads prompt **and** draft in one pass. A pass returns a row of scores after *every* position, so it answers
# several questions at once: what comes after the prompt? After the prompt and one draft token? And so on.
#
# **Predict.** Four draft tokens: how many of the target's rows are of use?

# %%
lesson.predict("rows", 5)

# %%
rows = target.logits([*prompt, *drafted])[-(gamma + 1) :]
choices = [int(token) for token in rows.argmax(axis=-1)]
for i, token in enumerate(choices):
    before = target.tokenizer.decode([*prompt[-2:], *drafted[:i]])
    theirs = (
        repr(target.tokenizer.decode([drafted[i]]))
        if i < gamma
        else "(nothing drafted)"
    )
    print(
        f"after …{before!r:34} the target wants "
        f"{target.tokenizer.decode([token])!r:10} draft: {theirs}"
    )

# %% [markdown]
# ## 4.2 · The decision
#
# *8 minutes · ●●○*
#
# **Why.** Row 0 holds the target's favourite for the position of `drafted[0]`. If the two agree, row 1 decides about `drafted[1]`,
# and so on. At the first disagreement you take the target's own token. The rest of the draft is worthless: it continues a text
# that does not exist. If all agree, one row is left over, and its token comes for free: the **bonus**.
#
# So a step always yields at least one token, and at most `gamma + 1`.
#
# **Wrong first.** "Keep every draft token that agrees with its row." It looks like the rule above, and many first versions do it:

# %%
wrong_drafts, wrong_choices = [5, 6, 7], [5, 9, 7, 1]
kept = [d for d, c in zip(wrong_drafts, wrong_choices, strict=False) if d == c]
print("kept:", kept)
assert kept == [5, 7]

# %% [markdown]
# The 7 was drafted after 5 and 6, and the target's third row has read 5 and 6. But 6 is not in the text: the target wanted 9
# there. A row that has read the 6 is of no use any more. Stop at the first disagreement.


# %%
def decide(drafted: list[int], choices: list[int]) -> tuple[int, int]:
    """Return how many draft tokens are accepted, and the target's token after them.

    drafted: G tokens; choices: G + 1 tokens, choices[i] is the target's favourite after
        i draft tokens

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
decide = lesson.working("decide", decide)
accepted, following = decide(drafted, choices)
print(f"{accepted} accepted, then {target.tokenizer.decode([following])!r}")

# %% [markdown]
# ## 4.3 · The loop
#
# *9 minutes · ●●●*
#
# **Why.** One step after another, until there is enough text. Mind the end: a step may yield more tokens than are still wanted.
# Drafting fewer tokens in the last step is the clean way: a step of `g` draft tokens yields at most `g + 1`.
#
# **Predict.** 10 tokens are wanted in all, 8 are there. What is the largest useful draft in this step?

# %%
lesson.predict("last_round", 1)


# %%
def speculate(
    propose, choose, prompt: list[int], gamma: int, num_tokens: int
) -> tuple[list[int], int]:
    """Return the num_tokens new tokens, and how many times the target was asked.

    propose(tokens, g): the draft's next g tokens, a list
    choose(tokens, drafted): the target's len(drafted) + 1 favourites, in one pass
    """
    new: list[int] = []
    passes = 0
    # BEGIN SOLUTION
    while len(new) < num_tokens:
        tokens = [*prompt, *new]
        drafted = propose(tokens, min(gamma, num_tokens - len(new) - 1))
        accepted, following = decide(drafted, choose(tokens, drafted))
        new += [*drafted[:accepted], following]
        passes += 1
    return new, passes
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
    return (
        target.logits([*tokens, *drafted])[-len(drafted) - 1 :].argmax(axis=-1).tolist()
    )


plain, _ = speculate(lambda tokens, g: [], choose, prompt, 0, 24)
fast, passes = speculate(propose, choose, prompt, 4, 24)
print(target.tokenizer.decode(fast))
print(f"{len(fast)} tokens in {passes} target passes")
print("the same tokens as without a draft:", fast == plain)
assert fast == plain

# %% [markdown]
# **Step through it.** The same in the real engine, moment by moment, on a prompt of yours. Use the buttons, or click on the picture
# and use the arrow keys. The bars are each model's probabilities after softmax; the highest one is its favourite. Below are the slots
# of both caches (lesson 2). One thing differs from your loop: the pass over the prompt gives the first token, before the first step.


# %%
def run(prompt: str):
    """Record a short greedy run."""
    return record(
        prompt, target=target, draft=draft, gamma=4, temperature=0.0, max_tokens=12
    )


explore(run, prompt="Once upon a time there was a little girl who")

# %%
last = run("Once upon a time there was a little girl who").frames[-1]
same = [token for token, _ in last.text] == [*prompt, *fast[:12]]
print("the same tokens as your loop's:", same)
assert same

# %% [markdown]
# ## 4.4 · The real engine
#
# *4 minutes · ●○○*
#
# The picture at the top came from the real engine. It does the same as your loop, with caches, and keeps a record of every step.
#
# **Look** at it again. Where is the draft right, and where does it fail? Often the ends of words and the small words between them
# are easy, and the choice of a noun is hard: is it so in this text? Now the same run on a time axis: orange is the draft model, blue the
# target, the numbers count tokens. Above it is plain decoding: the target without a draft.

# %%
alone, together = (
    minispec.generate(
        "Once upon a time there was a little girl who",
        target=target,
        draft=d,
        gamma=4,
        temperature=0.0,
        max_tokens=40,
    )
    for d in (None, draft)  # once more, because a first run is slower than all others
)
assert alone.token_ids == together.token_ids == made.token_ids
timeline_figure(alone.steps, together.steps)

# %% [markdown]
# ## 4.5 · How far to draft?
#
# *4 minutes · ●○○*
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
        "tokens per target pass": [
            runs[g].metrics.mean_acceptance_length for g in gammas
        ],
        "the most there could be, γ + 1": [g + 1.0 for g in gammas],
    },
    "γ, draft tokens per step",
    "tokens",
)

# %%
gain = {g: runs[g].metrics.mean_acceptance_length for g in (1, 10)}
print(f"γ = 1: {gain[1]:.2f} tokens per pass, of 2; γ = 10: {gain[10]:.2f}, of 11")
assert all(runs[g].token_ids == runs[1].token_ids for g in gammas)  # the same text


# %%
def per_pass(num_tokens: int, num_accepted: int) -> float:
    """Return tokens per target pass, given the number of all tokens and how many of
    them were accepted draft tokens.

    Every pass adds exactly one token of its own (nothing was cut). The prompt's pass
    counts here; the curves above leave it out, and the first token with it.
    """
    # BEGIN SOLUTION
    return num_tokens / (num_tokens - num_accepted)
    # END SOLUTION


# %%
lesson.check("per_pass", per_pass)

# %% [markdown]
# ## 4.6 · The whole idea on one screen
#
# *5 minutes · ●●○*
#
# Here is everything above in one function, without caches, randomness or options. Read it once from top to bottom. The rest of
# minispec makes it fast, exact at any temperature, and measurable.


# %%
def speculative(prompt: list[int], gamma: int, num_tokens: int) -> list[int]:
    """Write num_tokens tokens, exactly those that the target alone would write."""
    text = list(prompt)
    while len(text) < len(prompt) + num_tokens:
        # The draft runs ahead, one token at a time.
        wanted = len(prompt) + num_tokens - len(text)
        drafted: list[int] = []
        for _ in range(min(gamma, wanted - 1)):
            drafted.append(int(np.argmax(draft.logits([*text, *drafted])[-1])))
        # The target reads everything in one pass: a favourite after each position.
        rows = target.logits([*text, *drafted])[len(text) - 1 :]
        favourites = rows.argmax(axis=-1).tolist()
        # Keep what agrees, up to the first that does not; then the target's own token.
        accepted = 0
        while accepted < len(drafted) and drafted[accepted] == favourites[accepted]:
            accepted += 1
        text += [*drafted[:accepted], favourites[accepted]]
    return text[len(prompt) :]


same = speculative(prompt, 4, 24) == plain
print("the same tokens as without a draft:", same)
assert same

# %% [markdown]
# ## What you can do now
#
# - Write one step of greedy speculative decoding, and the loop around it.
# - Say why the text is the target's own, and why a step yields between 1 and γ + 1 tokens.
# - Say why longer drafts help less and less.
#
# In the code base: `minispec/tiny.py` is this function with the randomness of lesson 5, in one file that runs
# (`python -m minispec.tiny "Once upon a time"`); `minispec/engine/generation/loop.py` is the loop with caches and everything else.

# %% [markdown]
# ## References
#
# - Stern, Shazeer and Uszkoreit, *Blockwise Parallel Decoding for Deep Autoregressive Models*, NeurIPS 2018 (arXiv 1811.03115): draft and verify, greedily.
# - Xia et al., *Speculative Decoding: Exploiting Speculative Execution for Accelerating Seq2seq Generation*, 2022; Findings of EMNLP 2023 (arXiv 2203.16487).
# - Leviathan, Kalman and Matias, *Fast Inference from Transformers via Speculative Decoding*, ICML 2023 (arXiv 2211.17192).

# %%
lesson.progress()
