# %% [markdown]
# # 13 · Optional: the same pair elsewhere, and the GPU
#
# **Question.** A log of another engine says "Avg Draft acceptance rate: 47.5%". Is that good?
#
# You know speculative decoding from the inside now. In this lesson you translate. What do Hugging Face transformers, vLLM and
# llama.cpp call the same options? What do their figures mean? And what changes on a GPU? Nothing here needs those packages: cells that
# could use them say so and go on without.
#
# About 20 minutes. You need lessons 6 and 9.

# %%
import importlib.util

import numpy as np

import minispec
from minispec.course.teaching import begin, explore
from minispec.lab.viz.plots.theory import curves_figure

lesson = begin("13")
for package in ("transformers", "vllm", "llama_cpp", "cupy"):
    found = importlib.util.find_spec(package) is not None
    print(f"{package:12} {'installed' if found else 'not installed'}")
lesson

# %%
gammas = [1, 2, 3, 4, 6, 8, 12, 16]
curves_figure(
    gammas,
    {
        f"α = {a}": [sum(a**k for k in range(1, g + 1)) / g for g in gammas]
        for a in (0.9, 0.7, 0.5)
    },
    "γ, draft tokens per step",
    "accepted / drafted",
    level=0.475,
)

# %% [markdown]
# **Look.** The dashed line is the log's 47.5 %. A poor draft (α = 0.5) has about this rate with γ = 1, a good one (α = 0.9) with γ = 15. So the rate
# alone does not answer the question. In 13.2 you read the whole log.
#
# **If you only have ten minutes:** do 13.2: what the figures in a log of another engine mean.
#
# ## 13.1 · Transformers: `assistant_model`
#
# *4 minutes · ●○○*
#
# The bundled weights are ordinary Hugging Face folders, so the same pair runs there. The draft is called *assistant*:
#
# ```python
# target = AutoModelForCausalLM.from_pretrained(target_folder)
# draft = AutoModelForCausalLM.from_pretrained(draft_folder)
# target.generate(ids, assistant_model=draft, num_assistant_tokens=5, num_assistant_tokens_schedule="constant", do_sample=False)
# ```
#
# These are the names of 2025. All three projects rename options now and then, so look them up before you rely on one.
#
# | here | transformers | vLLM | llama.cpp |
# |---|---|---|---|
# | γ | `num_assistant_tokens` | `num_speculative_tokens` | `--draft-max` |
# | stop drafting when unsure | `assistant_confidence_threshold` | – | `--draft-p-min` |
# | n-gram draft | `prompt_lookup_num_tokens` | method `ngram` | lookup examples |
# | accepted / drafted | – | draft acceptance rate | accept |
#
# If both torch and transformers are installed, the next cell compares greedy texts.

# %%
from minispec.engine.loading.bundled import bundled_folders

prompt = "Once upon a time there was a little girl who"
ours = minispec.generate(prompt, temperature=0.0, max_tokens=24)
if importlib.util.find_spec("transformers") and importlib.util.find_spec("torch"):
    import torch
    from transformers import GPT2LMHeadModel
    from transformers.utils import logging

    logging.disable_progress_bar()
    theirs = GPT2LMHeadModel.from_pretrained(
        bundled_folders()["target-17m"], dtype=torch.float32
    )
    ids = minispec.load_tokenizer("target-17m").encode(prompt)
    made = theirs.generate(
        torch.tensor([ids]), max_new_tokens=24, do_sample=False, pad_token_id=0
    )[0, len(ids) :].tolist()
    print("the same 24 greedy tokens:", made == list(ours.token_ids))
else:
    print("transformers is not installed here; the text of minispec:")
print(ours.text)

# %% [markdown]
# ## 13.2 · Read their figures
#
# *5 minutes · ●●○*
#
# **Why.** Here is the whole line of vLLM's log, shortened: *"Mean acceptance length: 2.90, … Accepted: 190 tokens, Drafted: 400 tokens, … Avg
# Draft acceptance rate: 47.5%"*. Which of our symbols is which?
#
# **Wrong first.** "The acceptance rate is α, so τ = 1 + 0.475 + 0.475² + …":

# %%
gamma, rate = 4, 0.475
from_rate = sum(rate**k for k in range(gamma + 1))
print(f"τ from the rate {from_rate:.2f}, in the log 2.90")
assert abs(from_rate - 2.9) > 0.9
assert abs(1 + gamma * rate - 2.9) < 1e-9

# %% [markdown]
# It is the trap of lesson 6. The log's own figures fit together in another way. The mean acceptance length counts the target's own token: it is τ.
#
# **Predict.** From these counts: how many steps were there? (Each step emits its accepted draft tokens and one token more.)

# %%
lesson.predict("steps", 100)


# %%
def read_log(
    accepted: int, drafted: int, mean_acceptance_length: float
) -> tuple[float, float]:
    """Return (steps, gamma) for such a line, as real numbers.

    tau = 1 + accepted / steps; every step drafted gamma tokens.

    Example: read_log(190, 400, 2.9) is (100, 4)
    """
    # BEGIN SOLUTION
    steps = accepted / (mean_acceptance_length - 1)
    return steps, drafted / steps
    # END SOLUTION


# %%
lesson.check("read_log", read_log)

# %% [markdown]
# ## 13.3 · The same promise?
#
# *4 minutes · ●○○*
#
# Their "lossless" is usually *same-distribution, up to the hardware*. On a GPU the logits of one row and of six rows differ in the last
# bits, so greedy texts with and without a draft can part (lesson 9). Before you compare two systems, ask which promise each makes.


# %%
def first_difference(one: list[int], other: list[int]) -> int | None:
    """Return the position (from 0) where two token lists first differ, or None; a list
    that merely ends earlier differs at its end.

    Example: first_difference([1, 2, 3], [1, 2]) is 2
    """
    # BEGIN SOLUTION
    for i, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return i
    return None if len(one) == len(other) else min(len(one), len(other))
    # END SOLUTION


# %%
lesson.check("first_difference", first_difference)

# %% [markdown]
# ## 13.4 · On a GPU
#
# *7 minutes · ●●○*
#
# **Why.** A large card reads tens of times faster than a laptop, and computes hundreds of times faster. So its ridge lies far to
# the right, and more rows are free. But a small draft model cannot keep it busy: starting a kernel takes microseconds, however little it does.
#
# The prediction below counts bytes and operations of a 7-billion-parameter model in 16 bits, and takes public figures of the cards. It
# leaves out kernel starts and everything else that real systems lose.

# %%
from minispec.lab.roofline.counts import Storage
from minispec.lab.roofline.machine import get_profile
from minispec.lab.roofline.predict import predict_forward
from minispec.lab.roofline.shapes import get_shape

shape, storage = get_shape("7b"), Storage("float16")
cards = {name: get_profile(name) for name in ("a100", "h100", "rtx4090")}
rows = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]


def cost(card, m: int) -> float:
    """v(m) predicted for a card."""
    one, many = (
        predict_forward(shape, card, r, 512, storage=storage).seconds for r in (1, m)
    )
    return many / one


curves_figure(
    [float(np.log2(m)) for m in rows],
    {name: [cost(card, m) for m in rows] for name, card in cards.items()},
    "log₂ of the rows in one pass",
    "v(m), predicted",
    level=1.0,
)

# %% [markdown]
# **Look.** Up to which number of rows is verifying nearly free on each card? A chain of five draft tokens for one request uses six of them.

# %%
for name, card in cards.items():
    free = max(m for m in rows if cost(card, m) < 1.1)
    print(f"{name:8} up to {free} rows cost less than a tenth more than one")
    assert free >= 8

# %% [markdown]
# **Predict.** So what would use the free rows better, for a *single* request: `"a tree of drafts"` or `"a longer prompt"`?

# %%
lesson.predict("rows", "a tree of drafts")


# %%
def launch_bound(
    num_layers: int,
    kernels_per_layer: int,
    launch_us: float,
    bytes_read: float,
    gb_per_s: float,
) -> bool:
    """Return whether launching a model's kernels one by one takes longer than reading
    its weights.

    Example: launch_bound(2, 8, 5, 3e6, 2000) is True: 80 us against 1.5 us
    """
    # BEGIN SOLUTION
    launches = num_layers * kernels_per_layer * launch_us * 1e-6
    return launches > bytes_read / (gb_per_s * 1e9)
    # END SOLUTION


# %%
lesson.check("launch_bound", launch_bound)

# %% [markdown]
# That is why GPU engines record a forward pass once and replay it as a whole (a *CUDA graph*), or run it in one launch. minispec does
# the latter in `minispec/engine/backends/cuda/`; `docs/gpu.md` says what was tested, and where.


# %%
def at_size(billions: float):
    """Draw the most tokens per second on each card, over the bits per weight."""
    bits = [4, 8, 16]
    speeds = {"a100": 2039, "h100": 3350, "rtx4090": 1008}
    return curves_figure(
        bits,
        {
            name: [speed / (billions * b / 8) for b in bits]
            for name, speed in speeds.items()
        },
        f"bits per weight, {billions:g} billion weights (they may not fit)",
        "tokens per second, at most",
    )


explore(at_size, billions=[1.5, 7, 13, 70])

# %% [markdown]
# ## What you can do now
#
# You can read another engine's log: which figure is τ, which is not α, and how many steps there were. You can say on
# which cards more rows are free.
#
# A pair of your own? `minispec plan` and `minispec measure` answer whether speculation pays for it, on your machine. Lesson 14 goes on with
# drafts that look inside the target.

# %% [markdown]
# ## References
#
# - Wolf et al., *Transformers: State-of-the-Art Natural Language Processing*, EMNLP 2020, demonstrations (arXiv 1910.03771).
# - Kwon et al., *Efficient Memory Management for Large Language Model Serving with PagedAttention*, SOSP 2023 (arXiv 2309.06180): vLLM.
# - Spector and Ré, *Accelerating LLM Inference with Staged Speculative Decoding*, 2023 (arXiv 2308.04623): trees of drafts for a single reader.

# %%
lesson.progress()
