# %% [markdown]
# # 11 · Batches, serving and streaming
#
# So far one reader waited for one text. A server has many readers, sends each of them text as it is made, and is judged by how long
# they wait. In this lesson: why only verified tokens may leave, what is held back and why, how bursts feel to a reader, and why
# speculation pays less and less as a batch grows.
#
# About 30 minutes. You need lessons 3 and 6. minispec decodes one sequence at a time; what is said about batches here is computed,
# not measured, and says so.

# %% [markdown]
# **If you only have ten minutes:** do 11.3 (stop strings) and look at the picture in 11.5.

# %%
import numpy as np

import minispec
from minispec.analysis.timer import interleave
from minispec.generation.events import Drafted, Emitted, Verified
from minispec.teaching import Times, begin, explore
from minispec.viz.plots.curves import curves_figure

lesson = begin("11")
target, draft = minispec.load_model("target-17m"), minispec.load_model("draft-1.6m")
target.backend.warm_up()
lesson

# %% [markdown]
# ## 11.1 · Only verified tokens leave
#
# *6 minutes · ●○○*
#
# **Why.** A drafted token is a guess. A server that shows guesses at once must take some of them back: the reader sees words vanish.
# minispec's stream has an event for each stage; only `Emitted` is text.

# %%
counts = {"drafted": 0, "emitted": 0}
for event in minispec.stream(
    "Once upon a time there was a little",
    target=target,
    draft=draft,
    gamma=4,
    max_tokens=12,
    seed=2,
):
    if isinstance(event, Drafted):
        counts["drafted"] += len(event.tokens)
        print("drafted ", [target.tokenizer.decode([token]) for token in event.tokens])
    elif isinstance(event, Verified):
        print("verified", event.num_accepted, "accepted")
    elif isinstance(event, Emitted):
        counts["emitted"] += len(event.token_ids)
        print("emitted ", repr(event.text))
print(counts)


# %%
def retracted(steps: list[tuple[list[str], int]]) -> int:
    """Return how many characters an eager server takes back: it shows every drafted
    token at once.

    steps: (texts of the drafted tokens, how many of them were accepted), one per round

    Example: retracted([(["the ", "cat"], 1)]) is 3
    """
    # BEGIN SOLUTION
    return sum(len(text) for texts, accepted in steps for text in texts[accepted:])
    # END SOLUTION


# %%
lesson.check("retracted", retracted)

# %%
retracted = lesson.working("retracted", retracted)
made = minispec.generate(
    "Once upon a time there was a little",
    target=target,
    draft=draft,
    gamma=4,
    max_tokens=96,
    seed=2,
)
rounds = [
    (
        [target.tokenizer.decode([token]) for token in step.draft_tokens],
        step.num_accepted,
    )
    for step in made.steps
]
print(
    f"{len(made.text)} characters of text; an eager server would have shown and "
    f"taken back {retracted(rounds)}"
)

# %% [markdown]
# ## 11.2 · Characters that are not finished
#
# *7 minutes · ●●●*
#
# **Why.** A token is a piece of *bytes*, and a character such as "é" or "🙂" has several. If a round ends inside a character, its
# first bytes must wait.
#
# **Wrong first.** Decode what has come so far, and send it:

# %%
word = "né".encode()
sent = "".join(word[i : i + 1].decode(errors="replace") for i in range(len(word)))
print("byte by byte:", sent, " all at once:", word.decode())
assert sent != word.decode()

# %% [markdown]
# The reader sees signs for what could not be decoded, and they stay. So look at the bytes first. UTF-8 tells by the first byte
# how long a character is: `0xxxxxxx` 1, `110xxxxx` 2, `1110xxxx` 3, `11110xxx` 4; bytes `10xxxxxx` continue.


# %%
def complete(data: bytes) -> int:
    """Return how many of the bytes can be shown: all up to the last character if that
    is not finished.

    Suppose that data is the beginning of valid UTF-8.

    Example: complete("né".encode()[:2]) is 1
    """
    # BEGIN SOLUTION
    for back in range(1, min(4, len(data)) + 1):
        first = data[-back]
        if first & 0b1100_0000 == 0b1000_0000:
            continue  # a byte that continues; the first one is further back
        length = 1 if first < 0x80 else 2 if first < 0xE0 else 3 if first < 0xF0 else 4
        return len(data) if back >= length else len(data) - back
    return len(data)
    # END SOLUTION


# %%
lesson.check("complete", complete)

# %%
lesson.hint("complete")

# %% [markdown]
# ## 11.3 · Stop strings
#
# *6 minutes · ●●○*
#
# **Why.** "Stop at `\n\nQ:`" means that the reader must never see the beginning of it. So the end of the text that *could* become a
# stop string has to wait: the longest end of the text that is a beginning of the stop.
#
# **Predict.** The stop is `"END"`, the text so far `"THE EN"`. How many characters must wait?

# %%
lesson.predict("wait", 2)


# %%
def held_back(text: str, stop: str) -> int:
    """Return how many characters at the end of text must wait, because they may be the
    beginning of stop.

    Suppose that stop itself does not occur in text.

    Example: held_back("abcab", "abd") is 2
    """
    # BEGIN SOLUTION
    for length in range(min(len(text), len(stop) - 1), 0, -1):
        if text.endswith(stop[:length]):
            return length
    return 0
    # END SOLUTION


# %%
lesson.check("held_back", held_back)

# %% [markdown]
# ## 11.4 · How it feels
#
# *4 minutes · ●○○*
#
# **Why.** Plain decoding drips: one token per step. Speculative decoding comes in bursts. The mean time per token falls; the time
# between two *bursts* grows. A reader feels the gaps.
#
# **Predict.** γ grows from 2 to 8. The longest gap between two pieces of text: `"grows"`, `"falls"` or `"stays"`?

# %%
lesson.predict("gap", "grows")


# %%
def gaps_s(gamma: int | None) -> list[float]:
    """Seconds between the events that emit text."""
    run = minispec.generate(
        "Once upon a time there was a little",
        target=target,
        draft=None if gamma is None else draft,
        gamma=gamma or 1,
        max_tokens=96,
        seed=2,
    )
    return [step.step_s for step in run.steps[1:]]


gaps_s(4), gaps_s(None)  # the very first runs are slower than all others
settings = {"plain": None, "γ = 2": 2, "γ = 4": 4, "γ = 8": 8}
made = interleave({name: (lambda g=g: gaps_s(g)) for name, g in settings.items()}, 3)
for name, runs in made.items():
    gaps = 1e3 * np.concatenate(runs)
    print(
        f"{name:6} {len(gaps) // 3:3} gaps, median {np.median(gaps):5.2f} ms, "
        f"90 % below {np.percentile(gaps, 90):5.2f} ms, in all {gaps.sum() / 3:6.1f} ms"
    )

# %%
gap = Times(
    {name: [float(np.median(run)) for run in runs] for name, runs in made.items()}
)
gap.conclude(
    f"a gap at γ = 8 is {gap.median('γ = 8') / gap.median('γ = 2'):.2f} times one at "
    f"γ = 2",
    possible=gap.median("γ = 8") > gap.median("γ = 2"),
)

# %% [markdown]
# ## 11.5 · A batch
#
# *7 minutes · ●●○*
#
# **Why.** A server decodes B texts at once: one forward over B rows reads the weights once for all. Up to the ridge (lesson 3) that
# is free. But the free rows are just what speculation lives on! With B texts a verifying forward has B (γ + 1) rows.
#
# In units of one reading of the weights, a forward over m rows takes `max(1, m / ridge)`.


# %%
def batch_speedup(
    alpha: float, gamma: int, c: float, batch: int, ridge: float
) -> float:
    """Return the speedup of speculation for a whole batch, over plain decoding of the
    same batch.

    A round of plain decoding: one token per text, a forward over `batch` rows.
    A speculative round: tau tokens per text; gamma drafts of c times a *plain forward
        of this batch* each, and a forward over
    batch * (gamma + 1) rows.

    Example: batch_speedup(0.8, 4, 0.0, 1, 1e9) is tau = 3.3616
    """
    # BEGIN SOLUTION
    tau = sum(alpha**k for k in range(gamma + 1))
    plain = max(1.0, batch / ridge)
    verify = max(1.0, batch * (gamma + 1) / ridge)
    return tau * plain / (gamma * c * plain + verify)
    # END SOLUTION


# %%
lesson.check("batch_speedup", batch_speedup)

# %%
batch_speedup = lesson.working("batch_speedup", batch_speedup)
batches = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]


def over_batches(ridge: int):
    """Draw the speedup over the batch size (computed, not measured)."""
    return curves_figure(
        [float(np.log2(b)) for b in batches],
        {
            f"γ = {g}": [batch_speedup(0.8, g, 0.05, b, ridge) for b in batches]
            for g in (1, 2, 4, 8)
        },
        f"log₂ of the batch size, at a ridge of {ridge} rows",
        "speedup",
        level=1.0,
    )


explore(over_batches, ridge=[8, 64, 300])

# %% [markdown]
# **Look.** Long drafts are best for one reader, and the first to lose as the batch grows. Beyond the ridge every row is paid for,
# and a rejected draft is work thrown away. Servers that speculate turn it off under load.

# %%
for ridge in (64, 300):
    one = {g: batch_speedup(0.8, g, 0.05, 1, ridge) for g in (1, 2, 4, 8)}
    many = {g: batch_speedup(0.8, g, 0.05, 512, ridge) for g in (1, 2, 4, 8)}
    assert max(one, key=one.get) == 8
    assert min(many, key=many.get) == 8
    assert max(many.values()) < 1

# %% [markdown]
# In the code base: `minispec/generation/stopping.py` holds text back, exact to the token; `minispec/theory/batch.py` has 11.5.

# %% [markdown]
# ## References
#
# - Yu et al., *Orca: A Distributed Serving System for Transformer-Based Generative Models*, OSDI 2022: batches that change at every step.
# - Liu et al., *Optimizing Speculative Decoding for Serving Large Language Models Using Goodput*, 2024 (arXiv 2406.14066): less drafting under load.
# - Pike and Thompson, *Hello World or Καλημέρα κόσμε or こんにちは 世界*, USENIX Winter Conference 1993: UTF-8.

# %%
lesson.progress()
