# %% [markdown]
# # 11 · Batches, serving and streaming
#
# **Question.** One user waited for one text so far. Now hundreds ask at once. Who waits for whom, and is there still time to draft?
#
# A server decodes many requests together, sends each its text as soon as it is certain, and is judged by how long
# people wait. First you learn what may leave the server, and when. Then you decode many texts at once: each goes on at its own pace,
# and they share memory. In the end you measure how much speculation still gains as their number grows.
#
# About 60 minutes. You need lessons 3 and 6.

# %%
import time

import numpy as np

import minispec
from minispec.course.teaching import Times, begin, explore
from minispec.lab.prompts import bundled_prompts
from minispec.lab.timer import interleave
from minispec.lab.viz.plots.runs import Bar, gantt_figure, pages_figure, ragged_figure
from minispec.lab.viz.plots.theory import curves_figure

lesson = begin("11")
target, draft = minispec.load_model("target-17m"), minispec.load_model("draft-1.6m")
target.backend.warm_up()
lesson

# %%
bars = []
for name, begins, ends_at in (
    ("25 steps", 0, 25),
    ("3 steps", 0, 3),
    ("6 steps", 0, 6),
    ("4 steps", 25, 29),
    ("5 steps", 25, 30),
):
    if begins:
        bars.append(Bar(name, 0, begins / 1000, "waits"))
    bars.append(Bar(name, begins / 1000, ends_at / 1000, "decodes"))
gantt_figure({"batches of three": bars})

# %% [markdown]
# **Look.** Five requests, and a server that decodes three at a time. (One step takes a millisecond here.) Two requests wait for 25 steps, although most
# of the server is idle after step 6. You will write a better plan in 11.6.
#
# **If you only have ten minutes:** do 11.6 (who waits for whom) and look at the pictures in 11.5 and 11.8.
#
# ## 11.1 · Only verified tokens leave
#
# *6 minutes · ●○○*
#
# **Why.** A draft token is a guess. A server that shows guesses at once must take some of them back, and the user sees words vanish.
# minispec's stream has an event for each stage: `Drafted`, `Verified`, `Emitted`. Only `Emitted` is text. The first token has no draft, because
# the last row of the prompt gives it.

# %%
from minispec.engine.generation.events import Drafted, Emitted, Verified

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
    """Return how many characters an eager server takes back: it shows every draft token
    at once.

    steps: (texts of the draft tokens, how many of them were accepted), one per step

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
shown = [
    (
        [target.tokenizer.decode([token]) for token in step.draft_tokens],
        step.num_accepted,
    )
    for step in made.steps[1:]  # after the first token, which the prompt gives
]
print(
    f"{len(made.text)} characters of text; an eager server would have shown and "
    f"taken back {retracted(shown)}"
)

# %% [markdown]
# ## 11.2 · Characters that are not finished
#
# *7 minutes · ●●●*
#
# **Why.** A token is a piece of *bytes*, and a character such as "é" or "🙂" has several. If a step ends inside a character, its
# first bytes must wait.
#
# **Wrong first.** Decode what has come so far, and send it:

# %%
word = "né".encode()
sent = "".join(word[i : i + 1].decode(errors="replace") for i in range(len(word)))
print("byte by byte:", sent, " all at once:", word.decode())
assert sent != word.decode()

# %% [markdown]
# The user sees signs for the bytes that could not be decoded, and they stay. So look at the bytes first. In UTF-8 the first byte
# says how long a character is: `0xxxxxxx` 1, `110xxxxx` 2, `1110xxxx` 3, `11110xxx` 4; bytes `10xxxxxx` continue.


# %%
def complete(data: bytes) -> int:
    """Return how many of the bytes can be shown: all of them, or all before the last
    character if that one is not finished.

    data is the beginning of valid UTF-8.

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

# %% [markdown]
# ## 11.3 · Stop strings
#
# *6 minutes · ●●○*
#
# **Why.** "Stop at `\n\nQ:`" means that the user never sees any part of `\n\nQ:`. If the text ends with something that *could* become the stop
# string, this end has to wait. How much of it? The longest end of the text with which the stop begins.
#
# **Predict.** The stop is `"END"`, the text so far `"THE EN"`. How many characters must wait?

# %%
lesson.predict("wait", 2)


# %%
def held_back(text: str, stop: str) -> int:
    """Return how many characters at the end of text must wait, because they may be the
    beginning of stop.

    stop itself does not occur in text.

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
# **Why.** Plain decoding drips: one token per step. Speculative decoding comes in bursts. The mean time per token may fall while the time
# between two *bursts* grows. A person who reads along feels the gaps.
#
# You will measure it. `interleave` lets the settings take turns, three times, so that other programs disturb all of them alike.
# `Times` then says whether a difference is larger than the noise.
#
# **Predict.** γ grows from 2 to 8. The longest gap between two pieces of text: `"grows"`, `"falls"` or `"stays"`?

# %%
lesson.predict("gap", "grows")


# %%
def gaps_s(gamma: int | None) -> list[float]:
    """Seconds between the events that emit text.

    The draft reads the prompt before the second token: that time is left out.
    """
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
# ## 11.5 · Each at its own pace
#
# *6 minutes · ●●○*
#
# **Why.** A server decodes many texts with one pass per step, so it reads the weights once for all. Some drafts are
# better than others: in the same step one text gets five tokens and another one. The batch is *ragged*.
#
# **Predict.** The obvious way out is to keep all texts in step: each keeps as many draft tokens as the unluckiest one. Eight texts draft
# one token each, and each is accepted with probability 0.8. How probable is it that the batch keeps its draft tokens?

# %%
lesson.predict("in_step", 0.17)

# %%
names = ["story", "code", "sum", "fox"]
openings = [
    "Once upon a time there was a little",
    "def add(a, b):\n    return",
    "2 + 2 = 4\n3 + 3 =",
    "The little fox ran into the forest and",
]
engine = minispec.Engine(target, max_running=len(openings))
for i, opening in enumerate(openings):
    engine.add(
        opening, draft=draft, gamma=4, seed=i, max_tokens=64, min_tokens=64, top_p=1.0
    )
made = engine.run()
ragged_figure({name: text.steps for name, text in zip(names, made, strict=True)}, 10)

# %% [markdown]
# **Look.** A column is one pass, with γ + 1 rows for each text. Blue is an accepted draft token, vermilion (dark orange) is the token that the
# target adds itself, and an empty cell is a row that was computed for nothing. No text waits for the unluckiest. After the step each
# text has another length.


# %%
def lockstep(accepted: list[list[int]]) -> int:
    """Return how many tokens each text gets if all must stay in step.

    accepted: per step, how many draft tokens of each text the target accepts. All keep
        as many as the unluckiest, and then one token of the target's own.

    Example: lockstep([[4, 0], [3, 2]]) is 4
    """
    # BEGIN SOLUTION
    return sum(min(step) + 1 for step in accepted)
    # END SOLUTION


# %%
lesson.check("lockstep", lockstep)

# %%
lockstep = lesson.working("lockstep", lockstep)
shared_steps = min(text.metrics.num_steps for text in made) - 1
accepted = [
    [text.steps[1 + k].verdict.num_accepted for text in made]
    for k in range(shared_steps)
]
own_pace = np.mean([sum(step) / len(step) + 1 for step in accepted])
in_step = lockstep(accepted) / shared_steps
print(
    f"tokens per text and step: {own_pace:.2f} at its own pace, {in_step:.2f} in step"
)
assert in_step < own_pace

# %% [markdown]
# Does a text change because others are decoded with it? Decode each one alone, with the same seed:

# %%
options = {"target": target, "draft": draft, "gamma": 4, "top_p": 1.0}
for i, (opening, text) in enumerate(zip(openings, made, strict=True)):
    alone = minispec.generate(opening, seed=i, max_tokens=64, min_tokens=64, **options)
    assert alone.token_ids == text.token_ids
print("each text is, token for token, what it is when it is decoded alone")

# %% [markdown]
# There are two reasons. A row of a pass does not see the other rows. And minispec's random numbers belong to a request and a position, not
# to a batch.

# %% [markdown]
# ## 11.6 · Who waits for whom
#
# *8 minutes · ●●○*
#
# **Why.** Answers have different lengths. In the first picture, a batch begins together, and the next one begins when all have ended. So short
# answers wait for a long one, and their places stay empty. *Continuous batching* lets requests join and leave between any two
# steps.
#
# **Predict.** There are three places. The same five requests need 25, 3, 6, 4 and 5 steps, in the order of their arrival, and join as soon
# as a place is free. After how many steps does the *fourth* begin?

# %%
lesson.predict("begins", 3)


# %%
def ends(steps: list[int], places: int) -> list[int]:
    """Return after which step each request has ended.

    All are there from the beginning. In the order of the list, each request takes the
    place that is free first, and keeps it for as many steps as it needs.

    Example: ends([25, 3, 6, 4, 5], 3) is [25, 3, 6, 7, 11]
    """
    # BEGIN SOLUTION
    free = [0] * places
    ended = []
    for count in steps:
        place = free.index(min(free))
        free[place] += count
        ended.append(free[place])
    return ended
    # END SOLUTION


# %%
lesson.check("ends", ends)

# %% [markdown]
# Now for real: eight requests in both ways. A request of *n* tokens needs *n* steps: the one that reads its prompt gives the first. `step()`
# of minispec's engine is one pass for all that run. It returns what happened to each request. A `Prefilled` event says that a prompt was read.

# %%
from minispec.engine.generation.events import Prefilled

ends = lesson.working("ends", ends)
lengths, places = [25, 3, 6, 4, 5, 13, 3, 7], 3


def take_step(engine, unseen: list[int]) -> dict[int, str]:
    """Take one step, and say what each request did that is not finished."""
    alive = {*engine.running, *engine.waiting}
    told = engine.step()
    reading = {i for i, event in told if isinstance(event, Prefilled)}
    decoding = {i for i, event in told if isinstance(event, Emitted)} - reading
    states = dict.fromkeys([*alive, *unseen], "prompt")
    states |= dict.fromkeys(decoding, "decodes")
    return states | dict.fromkeys([*engine.waiting, *unseen], "waits")


# %%
def serve(waves: list[list[int]]):
    """Decode waves of requests, each wave as soon as the last one has ended."""
    engine = minispec.Engine(target, max_running=places)
    bars, ended, step, begun = [], {}, 0, time.perf_counter()
    for number, wave in enumerate(waves):
        unseen = [i for later in waves[number + 1 :] for i in later]
        for i in wave:  # requests are numbered as they come
            count = lengths[i]
            options = {"seed": i, "min_tokens": count, "max_tokens": count}
            engine.add(openings[i % 4], draft=None, **options)
        while not engine.is_idle:
            start, step = time.perf_counter() - begun, step + 1
            states = take_step(engine, unseen)
            end = time.perf_counter() - begun
            for i, state in sorted(states.items()):
                bars.append(Bar(f"{i}: {lengths[i]} tokens", start, end, state))
            gone = states.keys() - {*engine.running, *engine.waiting, *unseen}
            ended |= dict.fromkeys(gone, step)
    bars.sort(key=lambda bar: int(bar.request.split(":")[0]))
    return bars, [ended[i] for i in sorted(ended)], engine.run()


# %%
everyone = list(range(len(lengths)))
waves = [everyone[i : i + places] for i in range(0, len(everyone), places)]
serve(waves)  # the very first run is slower than all others
fixed, fixed_ends, fixed_texts = serve(waves)
joined, joined_ends, joined_texts = serve([everyone])
gantt_figure({"fixed batches of three": fixed, "continuous, three places": joined})

# %% [markdown]
# **Look.** Above, requests 1 and 2 are done early, and their places stay empty until request 0 is done. Below, the next one takes
# a place in the very next step. The first three gain nothing; all others do. And your `ends` computed each of these steps:

# %%
assert joined_ends == ends(lengths, places)
assert joined_ends[:3] == fixed_ends[:3]
assert max(fixed_ends[1:3]) < fixed_ends[0]
assert all(b < a for a, b in zip(fixed_ends[3:], joined_ends[3:], strict=True))
assert [t.token_ids for t in fixed_texts] == [t.token_ids for t in joined_texts]
print("ended after step, fixed batches:", fixed_ends)
print("ended after step, continuous:   ", joined_ends)
print(f"mean {np.mean(fixed_ends):.1f} and {np.mean(joined_ends):.1f} steps")

# %% [markdown]
# A long prompt also makes others wait: its pass has hundreds of rows. So minispec feeds prompts in chunks of 64 tokens, in the same
# pass as the tokens that others decode (Agrawal et al. 2023 call it *chunked prefill*).

# %% [markdown]
# ## 11.7 · Pages
#
# *7 minutes · ●●○*
#
# **Why.** Every text needs memory for its keys and values, and nobody knows how long it will get. It is simple to reserve a whole context
# for each, but most of it stays empty. So the memory is cut into *pages* of 16 slots, and a text takes one when it needs it.
#
# **Predict.** The context is 1024 slots, and texts get 64 tokens long. What share of the memory would stay empty without pages?

# %%
lesson.predict("empty", 0.94)

# %% [markdown]
# Texts that begin alike, with the same instructions for instance, need the pages of this beginning only once. Only *whole* pages can be
# shared: after the common beginning each text writes something else.


# %%
def pages_held(lengths: list[int], shared: int, size: int) -> int:
    """Return how many pages texts hold together.

    lengths: of each text, in slots; each begins with the same `shared` slots.
    size: slots per page

    Example: pages_held([20, 40], 16, 16) is 4
    """
    # BEGIN SOLUTION
    whole = shared // size
    return whole + sum(-(-length // size) - whole for length in lengths)
    # END SOLUTION


# %%
lesson.check("pages_held", pages_held)

# %%
pages_held = lesson.working("pages_held", pages_held)
instructions = (
    "This is a story for little children. It is short, it is kind, and it ends well. "
    "There is a fox in it, and a friend of the fox. This is how it begins. "
)
stories = [
    instructions + opening
    for opening in ("Once", "One day", "The fox was", "In a small house by the sea")
]
engine = minispec.Engine(target, max_running=4)
for i, (story, count) in enumerate(zip(stories, (200, 100, 66, 50), strict=True)):
    engine.add(story, draft=None, seed=i, max_tokens=count, min_tokens=count)
    for _ in range(3):  # then its prompt is in the pages, before the next text comes
        engine.step()
for _ in range(20):
    engine.step()

# %%
slots = {
    i: len(target.tokenizer.encode(stories[i]))
    + len(engine.generation(i).token_ids)
    - 1
    for i in engine.running
}  # the newest token is not in the cache yet
pages_figure({f"text {i}": (engine.pages(i), slots[i]) for i in slots}, 16)

# %%
tables = [engine.pages(i) for i in slots]
common = 16 * len(set.intersection(*map(set, tables)))
held = len({page for table in tables for page in table})
print(
    f"{held} pages for texts of {list(slots.values())} slots, {common} of them shared"
)
print(f"without sharing {pages_held(list(slots.values()), 0, 16)} pages,", end=" ")
print(f"without pages {len(slots) * target.n_positions // 16}")
assert common > 0
assert held == pages_held(list(slots.values()), common, 16)

# %% [markdown]
# **Look.** The pages of a text need not lie next to each other: a table lists them, and attention follows the table. At most
# the last page of each text is partly empty. Only *accepted* tokens may be shared: a draft token that is rejected later would
# be a false beginning for others. And before a text writes into a page that others hold, it copies the page.

# %% [markdown]
# ## 11.8 · What a batch leaves for speculation
#
# *10 minutes · ●●●*
#
# **Why.** One pass over B texts reads the weights once for all. Up to the ridge (lesson 3) its rows are free. But speculation needs exactly
# these free rows!
#
# **Predict.** Eight texts draft γ = 4 tokens each. How many rows has the pass that verifies them?

# %%
lesson.predict("rows", 40)

# %% [markdown]
# Measure it: the same texts without and with drafts, in turns, in batches of 1 to 16, greedily. *Goodput* is emitted tokens per
# second, of all texts together. Rejected draft tokens do not count. `make_prompts` makes prompts of 64 tokens each, and
# `decode_together` decodes some of them in one batch.

# %%
from minispec.lab.bench.batches import make_prompts
from minispec.lab.bench.together import decode_together

sizes, gammas = [1, 2, 4, 8, 16], {"plain": 0, "γ = 2": 2, "γ = 4": 4}
texts = make_prompts(target, bundled_prompts(), max(sizes), 64)
decoded = {(size, name): [] for size in sizes for name in gammas}


def goodput(size: int, name: str) -> float:
    """Decode `size` texts together, and return tokens per second."""
    run = decode_together(target, draft, texts[:size], gammas[name], 24)
    decoded[size, name].append(run)
    return run.tokens_per_s


for name in gammas:
    goodput(1, name)  # the very first runs are slower than all others
    decoded[1, name].clear()

# %%
measured = interleave(
    {
        f"{size} {name}": (lambda s=size, n=name: goodput(s, n))
        for size, name in decoded
    },
    3,
)
tokens_per_s = {
    name: [float(np.median(measured[f"{size} {name}"])) for size in sizes]
    for name in gammas
}
curves_figure(
    [float(np.log2(size)) for size in sizes],
    tokens_per_s,
    "log₂ of the batch size, measured here",
    "tokens per second, all texts",
)

# %%
times = Times({name: [1 / speed for speed in runs] for name, runs in measured.items()})
speedups = {
    name: [
        s / p for s, p in zip(tokens_per_s[name], tokens_per_s["plain"], strict=True)
    ]
    for name in ("γ = 2", "γ = 4")
}
for size, two, four in zip(sizes, *speedups.values(), strict=True):
    print(f"{size:2} texts: γ = 2 {two:.2f}x, γ = 4 {four:.2f}x plain decoding")
for size in sizes:  # neither the drafts nor the other requests change a text
    runs = [run for name in gammas for run in decoded[size, name]]
    assert len({tuple(t.token_ids for t in run.generations) for run in runs}) == 1
times.conclude(
    f"γ = 4 makes one text {speedups['γ = 4'][0]:.2f} times as fast, and "
    f"{sizes[-1]} texts {speedups['γ = 4'][-1]:.2f} times",
    possible=speedups["γ = 4"][0] > speedups["γ = 4"][-1],
)

# %% [markdown]
# Can you predict at which batch it stops paying? The unit is the time of reading the weights once. A pass over m rows takes
# `max(1, m / ridge)`. With B texts, a verifying pass has B (γ + 1) rows.


# %%
def batch_speedup(
    alpha: float, gamma: int, c: float, batch: int, ridge: float
) -> float:
    """Return the speedup of speculation for a whole batch, over plain decoding of the
    same batch.

    A plain step: one token per text, a pass over `batch` rows.
    A speculative step: tau tokens per text. It has gamma draft passes, each of c times
    a *plain step of this batch*, and a pass over batch * (gamma + 1) rows.
    A pass over m rows takes max(1, m / ridge).

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

# %% [markdown]
# Put in the numbers of this machine. Beyond the ridge a pass over sixteen rows takes 16 / ridge times as long as a pass over one. So the
# ridge comes from plain decoding of one text and of sixteen. α and c come from the speculative runs of one text. The formula has not seen
# the batches between.

# %%
batch_speedup = lesson.working("batch_speedup", batch_speedup)
step_s = {size: size / tokens_per_s["plain"][i] for i, size in enumerate(sizes)}
ridge = sizes[-1] * step_s[1] / step_s[sizes[-1]]
one = [text.metrics for run in decoded[1, "γ = 4"] for text in run.generations]
alpha = sum(m.num_accepted_tokens for m in one) / sum(
    m.num_evaluated_tokens for m in one
)
c = sum(m.draft_s for m in one) / sum(m.num_draft_tokens for m in one) / step_s[1]
print(f"α = {alpha:.2f}, c = {c:.2f}, a ridge of {ridge:.1f} rows")
curves_figure(
    [float(np.log2(size)) for size in sizes],
    {f"{name}, measured": values for name, values in speedups.items()}
    | {
        f"γ = {g}, computed": [
            batch_speedup(alpha, g, c, size, ridge) for size in sizes
        ]
        for g in (2, 4)
    },
    "log₂ of the batch size",
    "speedup",
    level=1.0,
)

# %% [markdown]
# `max(1, m / ridge)` is a coarse picture of a machine, and it leaves out the engine's own work for each token. On a
# quiet machine the curves have the shape of the measured ones, and cross 1 at about the same batch. And you can draw them for machines
# that you do not have:

# %%
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
# **Look.** Long drafts are best for one request, and the first to lose as the batch grows. Beyond the ridge every row costs time,
# and a rejected draft token is work thrown away. Servers that speculate turn it off under load. In minispec, `gamma="load"` measures what
# passes cost in the current batch, and chooses.

# %%
for ridge in (64, 300):
    one = {g: batch_speedup(0.8, g, 0.05, 1, ridge) for g in (1, 2, 4, 8)}
    many = {g: batch_speedup(0.8, g, 0.05, 512, ridge) for g in (1, 2, 4, 8)}
    losing = {  # the first of these batches that is slower than without drafts
        g: next(b for b in batches if batch_speedup(0.8, g, 0.05, b, ridge) < 1)
        for g in (1, 2, 4, 8)
    }
    assert max(one, key=one.get) == 8
    assert losing[8] == min(losing.values())
    assert max(many.values()) < 1

# %% [markdown]
# ## 11.9 · Whose draft gets the row
#
# *6 minutes · ●●○*
#
# **Why.** Requests differ: some drafts are nearly always accepted, others hardly ever. One γ for the whole batch gives both the same number of
# rows. But a row costs the same whoever gets it. So give the step a *budget* of rows, and spend it on the draft tokens that are likeliest to
# *survive*: the third token of a draft counts only if all three are accepted.
#
# **Predict.** One request accepts each draft token with probability 0.9, another with 0.5. Which is likelier to survive: the sixth token
# of the first (`"sixth"`) or the first token of the second (`"first"`)?

# %%
lesson.predict("likelier", "sixth")


# %%
def share_rows(chances: list[list[float]], rows: int) -> list[int]:
    """Return how many tokens each request drafts: `rows` in all, those that are
    likeliest to survive.

    chances: for each request and each place of its draft, how probable it is that the
        token there is accepted, if those before it are

    Example: share_rows([[0.9, 0.9], [0.3, 0.3]], 2) is [2, 0]
    """
    # BEGIN SOLUTION
    places = [
        (np.prod(row[: k + 1]), i)
        for i, row in enumerate(chances)
        for k in range(len(row))
    ]
    taken = [i for _, i in sorted(places, reverse=True)[:rows]]
    return [taken.count(i) for i in range(len(chances))]
    # END SOLUTION


# %%
lesson.check("share_rows", share_rows)

# %% [markdown]
# Eight requests with four kinds of drafts, and sixteen rows to give. How many draft tokens are accepted in a step, on average?

# %%
share_rows = lesson.working("share_rows", share_rows)
alphas = [0.9, 0.6, 0.3, 0.1] * 2


def expect_accepted(lengths: list[int]) -> float:
    """Add up how probably each draft token survives."""
    return sum(
        alpha**k
        for alpha, length in zip(alphas, lengths, strict=True)
        for k in range(1, length + 1)
    )


shares = share_rows([[alpha] * 8 for alpha in alphas], 16)
print(f"γ = 2 for all: {expect_accepted([2] * 8):.2f} accepted, shares {[2] * 8}")
print(f"one budget:    {expect_accepted(shares):.2f} accepted, shares {shares}")
assert sum(shares) == 16
assert expect_accepted(shares) > expect_accepted([2] * 8)

# %% [markdown]
# No other way to spend sixteen rows does better. The likeliest places are the best ones, and they are never a token without the one before
# it, because each place is less likely than the last. `gamma="budget"` does this in the engine, and chooses the number of rows too. Let both
# policies decode the same eight requests. The machine is simulated: 24 rows take as long as one, and a draft pass a tenth of it.

# %%
from minispec.lab.simulate import CostModel, decode_company

accepted = np.random.default_rng(0).random((8, 80)) < np.array(alphas)[:, None]
machine = CostModel(draft=0.1, row=1 / 24, free=24)
rates = {
    policy: decode_company(accepted, 64, machine, gamma=policy).rate / 8
    for policy in ("load", "budget")
}
for policy, rate in rates.items():
    print(f"{policy:6} {rate:.2f} times as fast as plain decoding")
assert rates["budget"] > rates["load"] > 1

# %% [markdown]
# **Look.** Eight requests and two draft tokens each are 24 rows: `load` can spend them in one way only. The budget spends them better. It gains
# nothing where all drafts are alike and rows come in the right number anyway. And good drafts finish early: with nobody coming in, the bad
# ones stay behind alone. [The ledger](../../docs/claims.md#row-budget) has both figures.

# %% [markdown]
# ## What you can do now
#
# You can say which characters a server may send and which must wait. You can compute when each request of a queue
# ends, and how many pages a batch holds. And you can say at which batch size drafts stop paying, on your machine and on others, and which
# drafts should get the rows that a batch leaves.
#
# In the code base: `minispec/engine/generation/stopping.py` holds text back, exact to the token. `minispec/engine/batching/engine.py` decodes
# together, and `minispec/engine/batching/scheduler.py` decides which requests run. `minispec/engine/model/pages.py` has the pages, `minispec/theory/batch.py`
# the formula. `minispec bench --batch 1,2,4,8` measures 11.8 with care. In assignment A6 you write the scheduler.

# %% [markdown]
# ## References
#
# - Yu et al., *Orca: A Distributed Serving System for Transformer-Based Generative Models*, OSDI 2022: batches that change at every step.
# - Kwon et al., *Efficient Memory Management for Large Language Model Serving with PagedAttention*, SOSP 2023 (arXiv 2309.06180): pages.
# - Wu et al., *TETRIS: Optimal Draft Token Selection for Batch Speculative Decoding*, ACL 2025 (arXiv 2502.15197): a budget of rows.
# - Liu et al., *Optimizing Speculative Decoding for Serving Large Language Models Using Goodput*, 2024 (arXiv 2406.14066): less drafting under load.

# %%
lesson.progress()
