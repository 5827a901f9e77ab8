"""A1's checks: small random models, compared number by number with the reference solution.

The tolerance is 1e-4, absolute and relative. The models are a few layers of 6 to 8 channels with numbers around 1, so
float32 in any order of operations stays within about 1e-5 of float64, and every mistake of the catalogue differs by
more than 1e-3 somewhere.
"""

import numpy as np

from minispec.course.grading import Check, Close, with_drawn

NUMBERS = Close(rtol=1e-4, atol=1e-4)
LARGE = Close(rtol=1e-3, atol=1e-3)
"""Scores of several hundred: float32 rounds them by 5e-5, and their exponentials by as much, relatively."""

CAPACITY = 24


def arrays(rng, *shape):
    """Numbers that are short to print."""
    return rng.normal(size=shape).round(1)


def make_model(seed, n_layer=2, n_head=2, head_size=3, vocab_size=7):
    """Return parameters of a random GPT-2; biases and norms are not trivial."""
    rng = np.random.default_rng(seed)
    width = n_head * head_size

    def linear(name, num_in, num_out):
        return {
            f"{name}.weight": rng.normal(size=(num_in, num_out)) / np.sqrt(num_in),
            f"{name}.bias": 0.3 * rng.normal(size=num_out),
        }

    def norm(name):
        return {f"{name}.weight": 1 + 0.3 * rng.normal(size=width), f"{name}.bias": 0.3 * rng.normal(size=width)}

    params = {"wte": rng.normal(size=(vocab_size, width)), "wpe": rng.normal(size=(2 * CAPACITY, width))}
    for layer in range(n_layer):
        params |= norm(f"h.{layer}.ln_1") | linear(f"h.{layer}.attn.c_attn", width, 3 * width)
        params |= linear(f"h.{layer}.attn.c_proj", width, width) | norm(f"h.{layer}.ln_2")
        params |= linear(f"h.{layer}.mlp.c_fc", width, 4 * width) | linear(f"h.{layer}.mlp.c_proj", 4 * width, width)
    return params | norm("ln_f")


OFF = (("attention",), ("mlp",), ("attention", "mlp"))


def model_of(case):
    """Return the case's parameters and number of heads; `tied` makes all logits exactly equal, `off` silences parts."""
    params = make_model(case["seed"], case["n_layer"], case["n_head"])
    parts = tuple({"attention": ".attn.c_proj.", "mlp": ".mlp.c_proj."}[part] for part in case.get("off", ()))
    params |= {name: np.zeros_like(a) for name, a in params.items() if any(part in name for part in parts)}
    if case.get("tied"):
        params |= {name: np.zeros_like(params[name]) for name in ("ln_f.weight", "ln_f.bias")}
    return params, case["n_head"]


def show_model(case):
    """Say what the case is in a line."""
    rest = ", ".join(f"{name}={value}" for name, value in case.items() if name not in ("seed", "n_layer", "n_head"))
    return f"a random model of {case['n_layer']} layer(s), {case['n_head']} head(s): {rest}"


def models(**rest):
    """A hypothesis strategy of cases on a model: the simplest is one layer with one head."""
    from hypothesis import strategies as st

    return st.fixed_dictionaries(
        {"seed": st.integers(0, 3), "n_layer": st.integers(1, 2), "n_head": st.integers(1, 2), **rest}
    )


def token_lists(max_size, min_size=1):
    """A hypothesis strategy of token lists."""
    from hypothesis import strategies as st

    return st.lists(st.integers(0, 6), min_size=min_size, max_size=max_size)


# q1


def observe_norm(student, case):
    return student.layer_norm(case["x"], case["weight"], case["bias"])


def norm_case(x, rng=None):
    width = x.shape[1]
    rng = rng or np.random.default_rng(width)
    return {"x": x, "weight": 1 + arrays(rng, width), "bias": arrays(rng, width)}


def norm_cases():
    rng = np.random.default_rng(0)
    rows = [np.array([[1.0, 3.0]]), 4 + arrays(rng, 3, 4), arrays(rng, 4, 4), 100 + arrays(rng, 2, 8)]
    return [norm_case(x) for x in rows]


def hidden_norm(rng):
    return [norm_case(5 * arrays(rng, 3, 6) - 2, rng), norm_case(100 + arrays(rng, 2, 5), rng)]


def search_norm():
    from hypothesis import strategies as st

    def case(rows):
        return {"x": np.array(rows, float), "weight": np.array([1.0, 2.0, 3.0]), "bias": np.array([0.0, 1.0, -1.0])}

    row = st.lists(st.integers(-3, 3), min_size=3, max_size=3)
    return st.lists(row, min_size=1, max_size=2).map(case)


def small_cases():
    rng = np.random.default_rng(1)
    return [norm_case(np.full((1, 4), 2.0)), norm_case(0.003 * arrays(rng, 2, 5))]


def hidden_small(rng):
    return [norm_case(np.full((2, 5), rng.normal()), rng), norm_case(0.003 * arrays(rng, 3, 4), rng)]


def explain_norm(cases, observed, expected):
    """Take weight and bias off again: is a row's mean wrong, or the number it was divided by?"""
    told = set()
    for case, ours, right in zip(cases, observed, expected, strict=True):
        x, weight, bias = case["x"], case["weight"], case["bias"]
        ours = np.asarray(ours, float)
        if ours.shape != x.shape or not np.isfinite(ours).all():
            return None
        if not near(ours, right) and np.abs(weight).min() > 0.05:
            told.add(judge_norm(ours, (np.asarray(right, float) - bias) / weight, weight, bias))
    return only(told - {None})


def only(told):
    """Return the one thing that all wrong cases say."""
    return next(iter(told)) if len(told) == 1 else None


def judge_norm(ours, normed, weight, bias):
    """Compare with the normalised rows, channel by channel, then row by row."""
    if len(normed) > 2:
        fits = [np.polyfit(a, b, 1, full=True) for a, b in zip(normed.T, ours.T, strict=True)]
        if sum(float(fit[1].sum()) for fit in fits) < 1e-9:
            scale, shift = np.array([fit[0] for fit in fits]).T
            if near(shift, bias) and not near(scale / weight, np.mean(scale / weight)):
                return "norm_scale", "Your rows are normalised, but what they are multiplied by is not the weight."
            if near(scale, weight):
                return "norm_shift", "Your rows are normalised and scaled, but what you add is not the bias."
    z = (ours - bias) / weight
    factors = (z * normed).sum(axis=-1) / np.maximum((normed**2).sum(axis=-1), 1e-9)
    if near(z, factors[:, None] * normed):
        return "norm_deviation", "Your rows have mean 0, but you do not divide them by sqrt(variance + epsilon)."
    return None


def near(a, b):
    return bool(np.allclose(a, b, rtol=1e-4, atol=1e-4))


# q2


def observe_gelu(student, case):
    return student.gelu(case["x"])


GELU = Close(rtol=2e-5, atol=2e-5)
"""The exact form differs from the tanh form by up to 4.7e-4."""


def gelu_cases():
    return [
        {"x": np.array([-1.0, 0.0, 1.0])},
        {"x": np.linspace(-4, 4, 17)},
        {"x": np.array([[-60.0, 2.3], [60.0, -2.3]])},
    ]


def explain_gelu(cases, observed, expected):
    """Solve for what stands inside the tanh; if nothing can, say which end of the curve is wrong."""
    x, ours, right = cases[1]["x"], np.asarray(observed[1], float), np.asarray(expected[1], float)
    if ours.shape != x.shape or not np.isfinite(ours).all():
        return None
    middle = (np.abs(x) < 2) & (x != 0)
    inside = 2 * ours[middle] / x[middle] - 1
    if (np.abs(inside) < 1).all():
        terms = np.stack([x[middle], x[middle] ** 3], axis=1)
        (first, third), *_ = np.linalg.lstsq(terms, np.arctanh(inside), rcond=None)
        is_right = near([first, third], [np.sqrt(2 / np.pi), 0.044715 * np.sqrt(2 / np.pi)])
        if not is_right and near(terms @ [first, third], np.arctanh(inside)):
            words = f"Inside your tanh stands {first:.4f} x + {third:.4f} x**3; it is 0.7979 x + 0.0357 x**3."
            return "gelu_inside", words
    if near(ours[x > 0], right[x > 0]):
        return "gelu_negative", "For positive numbers you are right, for negative ones wrong."
    if not near(ours - ours[::-1], x):
        return "gelu_outside", "gelu(x) - gelu(-x) must be x: what stands outside of the tanh is not (x/2)(1 + ...)."
    if not near(ours[[0, -1]], right[[0, -1]]):
        return "gelu_ends", "For large x gelu is x, for very negative x it is 0: all that is added to x is in the tanh."
    return None


def hidden_gelu(rng):
    return [{"x": 3 * arrays(rng, 4, 5)}]


# q3


def observe_attention(student, case):
    return student.causal_attention(case["queries"], case["keys"], case["values"])


def observe_large(student, case):
    """Whether the numbers are numbers, and which; all that overflow are alike."""
    heads = np.asarray(observe_attention(student, case), float)
    finite = bool(np.isfinite(heads).all())
    return {"all numbers are finite": finite, "heads": heads if finite else None}


def attention_case(rng, num_queries, num_keys, n_head, head_size, scale=1):
    return {
        "queries": scale * arrays(rng, num_queries, n_head, head_size),
        "keys": scale * arrays(rng, num_keys, n_head, head_size),
        "values": arrays(rng, num_keys, n_head, head_size),
    }


def attention_cases():
    rng = np.random.default_rng(2)
    shapes = [(1, (1, 2)), (2, (1, 3)), (3, (2, 3)), (5, (3, 4)), (3, (6, 2)), (6, (2, 7))]
    return [attention_case(rng, size, size, *heads) for size, heads in shapes]


def hidden_attention(rng):
    return [attention_case(rng, 4, 4, *heads) for heads in ((2, 5), (int(rng.integers(5, 9)), 2))]


def block_cases():
    rng = np.random.default_rng(3)
    return [attention_case(rng, *sizes) for sizes in [(1, 2, 1, 2), (1, 4, 2, 3), (2, 5, 2, 3), (3, 7, 2, 8)]]


def explain_attention(cases, observed, expected):
    """Solve for the weights, where values have room for it, and look at them."""
    broken = []
    for case, ours, right in zip(cases, observed, expected, strict=True):
        values, ours = case["values"], np.asarray(ours, float)
        num_queries, num_keys = len(case["queries"]), len(values)
        if ours.shape != np.shape(right) or num_keys > values.shape[-1] or near(ours, right):
            continue
        visible = np.tri(num_queries, num_keys, num_keys - num_queries, dtype=bool)
        for head in range(values.shape[1]):
            weights = np.linalg.lstsq(values[:, head].T, ours[:, head].T, rcond=None)[0].T
            if not near(weights @ values[:, head], ours[:, head]):
                return "attention_values", "Your results are no weighted sums of their own head's values."
            scores = case["queries"][:, head] @ case["keys"][:, head].T / np.sqrt(values.shape[-1])
            broken.append(judge_weights(weights, scores, visible))
    told = set(broken)
    return only(told - {ATTENTION_FACTOR} if OTHER_WEIGHTS in told else told)


def judge_weights(weights, scores, visible):
    """Return the first law that attention weights break, and in which sentence."""
    if not near(weights[~visible], 0.0):
        return "attention_future", "Your tokens give weight to tokens that come after them."
    if (np.abs(weights[visible]) < 1e-6).any():
        return "attention_unseen", "Some of your tokens give no weight to a token before them, or to themselves."
    if not near(weights.sum(axis=-1), 1.0):
        return "attention_sums", "The weights of your queries do not sum to 1."
    if (weights[visible] > 0).all():
        gaps, seen = scores - scores[:, :1], np.log(np.where(visible, weights, 1.0))
        gaps, seen = gaps[visible], (seen - seen[:, :1])[visible]
        factor = float(gaps @ seen) / max(float(gaps @ gaps), 1e-9)
        if near(factor * gaps, seen) and not near(factor, 1.0):
            return ATTENTION_FACTOR
    return OTHER_WEIGHTS


ATTENTION_FACTOR = (
    "attention_factor",
    "Your scores are the right ones times some number: look at their sign and scale.",
)  # of two keys any weights are
OTHER_WEIGHTS = "attention_weights", "Your weights sum to 1, but they are not the softmax of q k / sqrt(D)."


def hidden_block(rng):
    return [attention_case(rng, 3, 7, 2, 4)]


def large_cases():
    """Rows that lie far apart, and one alone, whose largest score is also the largest of all."""
    alone = {"queries": np.full((1, 1, 2), 60.0), "keys": np.array([[[60.0, 60.0]], [[60.0, 60.01]], [[1.0, 0.0]]])}
    alone["values"] = np.arange(6.0).reshape(3, 1, 2)
    return [attention_case(np.random.default_rng(4), 3, 3, 1, 2, scale=30), alone]


def hidden_large(rng):
    return [attention_case(rng, 3, 4, 2, 2, scale=30)]


def search_attention(max_more):
    from hypothesis import strategies as st

    def case(num_queries, num_more, n_head, head_size, seed):
        return attention_case(np.random.default_rng(seed), num_queries, num_queries + num_more, n_head, head_size)

    more = st.integers(min(1, max_more), max_more)
    return st.builds(case, st.integers(1, 3), more, st.integers(1, 2), st.integers(1, 3), st.integers(0, 3))


# q4


def observe_forward(student, case):
    params, n_head = model_of(case)
    return student.forward(params, n_head, case["tokens"])


def forward_cases():
    return [
        {"seed": 0, "n_layer": 1, "n_head": 1, "tokens": [2]},
        {"seed": 1, "n_layer": 1, "n_head": 2, "tokens": [3, 0]},
        {"seed": 2, "n_layer": 2, "n_head": 2, "tokens": [1, 1, 6, 4]},
        {"seed": 3, "n_layer": 3, "n_head": 3, "tokens": [5, 2, 0, 3, 1, 6]},
        {"seed": 4, "n_layer": 1, "n_head": 6, "tokens": [2, 5, 1]},
        {"seed": 5, "n_layer": 12, "n_head": 1, "tokens": [4, 0, 6]},
        *({"seed": 6, "n_layer": 1, "n_head": 2, "tokens": [3, 1, 5], "off": off} for off in OFF),
    ]


def explain_forward(cases, observed, expected):
    """Say which of a model's parts is wrong, by models of which parts are switched off."""
    wrong = {}
    for case, ours, right in zip(cases, observed, expected, strict=True):
        if np.shape(ours) != np.shape(right):
            return None
        key = "+".join(case.get("off", ())) or ("layers" if case["n_layer"] > 1 else "one layer")
        wrong[key] = wrong.get(key, False) or not near(np.asarray(ours, float), right)
    if wrong["attention+mlp"]:
        return "forward_ends", (
            "You are wrong also where attention and MLP add nothing (their c_proj is 0): look at the embeddings, at the "
            "sums x + ..., and at what comes after the last layer."
        )
    if wrong["mlp"] != wrong["attention"]:
        part = "attention" if wrong["mlp"] else "MLP"
        words = (
            f"You are right where the {part} adds nothing (its c_proj is 0): look at it, and at where its result goes."
        )
        return f"forward_{part.lower()}", words
    if not wrong["mlp"] and not wrong["one layer"] and wrong["layers"]:
        return "forward_layers", "You are right with one layer and wrong with several: look at how you go through them."
    return None


def hidden_forward(rng):
    return [
        {"seed": int(rng.integers(10**6)), "n_layer": n_layer, "n_head": n_head, "tokens": tokens}
        for n_layer, n_head, tokens in (
            (2, 3, rng.integers(0, 7, 5).tolist()),
            (1, int(rng.integers(4, 7)), rng.integers(0, 7, 4).tolist()),
            (2, 1, rng.integers(0, 7, 20).tolist()),
        )
    ]


def search_forward():
    return models(tokens=token_lists(3))


# q5 and q6: a script on one cache


def observe_script(student, case):
    """Play the case's operations on a cache; another cache is filled before and used after. Return all logits."""
    params, n_head = model_of(case)
    other_model = make_model(case["seed"] + 1, case["n_layer"], case["n_head"])
    other = student.keep.new_cache(params, n_head, CAPACITY)
    student.forward_cached(params, n_head, [4, 4], other)
    cache = student.keep.new_cache(params, n_head, CAPACITY)
    logits = []
    for operation, argument in case["script"]:
        if operation == "rollback":
            student.rollback(cache, argument)
        else:
            model = other_model if operation == "feed to another model" else params
            logits.append(student.forward_cached(model, n_head, argument, cache))
    return {"feeds": logits, "other cache": student.forward_cached(params, n_head, [5], other)}


def show_script(case):
    return f"{show_model(case)}; another cache is fed [4, 4] before and [5] after"


def script_case(seed, *script, n_layer=2, n_head=2):
    return {"seed": seed, "n_layer": n_layer, "n_head": n_head, "script": list(script)}


def feed(*tokens):
    return ("feed", list(tokens))


def back(length):
    return ("rollback", length)


def chunk_cases():
    return [
        script_case(0, feed(1), n_layer=1, n_head=1),
        script_case(0, feed(1), feed(2), n_layer=1, n_head=1),
        script_case(1, feed(1, 5), feed(0)),
        script_case(2, feed(3, 1, 2), feed(4), feed(6, 0, 5)),
        script_case(3, feed(*range(7), *range(7)), feed(*range(6)), feed(1, 3, 5), feed(2), n_layer=1),  # full
    ]


def explain_script(cases, observed, expected):
    """Say which feeds of a text are wrong, where the forward without a cache is right."""
    told = set()
    for case, ours, right in zip(cases, observed, expected, strict=True):
        feeds = [len(argument) for operation, argument in case["script"] if operation != "rollback"]
        pairs = list(zip(feeds, ours["feeds"], right["feeds"], strict=True))
        if any(np.shape(a) != np.shape(b) for _, a, b in pairs):
            told.add(("cache_shape", "You do not return a row of logits for each token of a piece."))
            continue
        wrong = [(i, size) for i, (size, a, b) in enumerate(pairs) if not near(a, b)]
        if wrong:
            told.add(PIECES_OF_A_TEXT[min(wrong[0][0], 2)])
        elif not near(ours["other cache"], right["other cache"]):  # its second piece came after this script
            told.add(PIECES_OF_A_TEXT[1] if len(feeds) == 1 else OTHER_CACHE)
    return only(told)


OTHER_CACHE = ("cache_other", "Your caches are not apart: feeding one changes another.")
PIECES_OF_A_TEXT = (
    ("cache_first_piece", "Already the first piece of a text is wrong, though without a cache it is right."),
    (
        "cache_second_piece",
        "The first piece is right, the second is not: look at its positions, and at which keys and values it sees.",
    ),
    (
        "cache_third_piece",
        "The second piece of a text is right, the third is not: what was fed first is lost, or moved.",
    ),
)


def explain_rollback(cases, observed, expected):
    """Say whether it is going back to a length that the cache does not exceed that goes wrong."""
    for case, ours, right in zip(cases, observed, expected, strict=True):
        length, fed, shortened = 0, 0, None
        for operation, argument in case["script"]:
            if operation == "rollback":
                shortened, length = argument < length, min(argument, length)
                continue
            if not near(ours["feeds"][fed], right["feeds"][fed]):
                if shortened is not False:
                    return None
                break
            fed, length = fed + 1, length + len(argument)
    return "rollback_of_nothing", "Going back to a length that the cache does not exceed must change nothing."


def some_feeds(rng, sizes):
    return [feed(*rng.integers(0, 7, size).tolist()) for size in sizes]


def hidden_chunks(rng):
    full = [int(size) for size in rng.multinomial(CAPACITY - 4, [0.25] * 4) + 1]
    return [script_case(int(rng.integers(10**6)), *some_feeds(rng, sizes)) for sizes in (rng.integers(1, 4, 4), full)]


def search_chunks():
    from hypothesis import strategies as st

    return models(script=st.lists(token_lists(2).map(lambda tokens: feed(*tokens)), min_size=1, max_size=3))


def once_cases():
    return [
        script_case(0, feed(1), ("feed to another model", [2]), n_layer=1, n_head=1),
        script_case(1, feed(1, 2, 3), ("feed to another model", [5, 0]), feed(6)),
    ]


def hidden_once(rng):
    first, (_, other), last = some_feeds(rng, rng.integers(1, 4, 3))
    return [script_case(int(rng.integers(10**6)), first, ("feed to another model", other), last)]


def rollback_cases():
    return [
        script_case(0, feed(1, 2), back(1), feed(3), n_layer=1, n_head=1),
        script_case(1, feed(1, 2, 3, 4), back(3), feed(5), back(4), feed(6)),
        script_case(2, feed(1, 2, 3), back(0), feed(4, 5)),
        script_case(3, feed(1, 2), back(5), feed(3)),
        script_case(4, feed(1, 2, 3), back(3), feed(4, 0), back(1), back(2), feed(5), feed(6, 6)),
    ]


def hidden_rollback(rng):
    script, length = [], 0
    for _ in range(4):
        tokens = rng.integers(0, 7, rng.integers(1, 4)).tolist()
        target = int(rng.integers(1, length + len(tokens) + 1))
        script += [feed(*tokens), back(target)]
        length = target
    return [script_case(int(rng.integers(10**6)), *script, feed(0, 1))]


def search_rollback():
    from hypothesis import strategies as st

    operation = token_lists(2).map(lambda tokens: feed(*tokens)) | st.integers(0, 4).map(back)
    return models(script=st.lists(operation, max_size=3).map(lambda script: [feed(1, 2), *script, feed(3)]))


# q7

CLEAR = (0, 5, 9, 10, 11, 13, 15, 17, 19, 22, 23, 26, 30, 35, 37, 41, 43, 46, 47)
"""Seeds whose greedy texts have their best two logits at least 0.05 apart all along: rounding cannot turn them."""


def observe_generate(student, case):
    params, n_head = model_of(case)
    return student.generate(params, n_head, case["prompt"], case["max_tokens"])


def text_case(seed, max_tokens, **rest):
    prompt = np.random.default_rng(seed).integers(0, 7, 1 + seed % 4).tolist()
    return {"seed": seed, "n_layer": 2, "n_head": 2, "prompt": prompt, "max_tokens": max_tokens, **rest}


def text_cases():
    return [
        text_case(CLEAR[0], 0),
        text_case(CLEAR[0], 1),
        text_case(CLEAR[1], 3),
        text_case(1, 2, tied=True),
        text_case(CLEAR[2], 8),
        text_case(CLEAR[3], 8),
        text_case(CLEAR[5], 2),
    ]


def explain_texts(cases, observed, expected):
    """Say where texts go wrong, where the cache is right."""
    told = set()
    for ours, right in zip(observed, expected, strict=True):
        if not all(isinstance(one, list) for one in (ours, right)):
            return None
        if len(ours) < len(right) and ours == right[: len(ours)]:
            told.add(("generate_too_short", "Your text ends too early: nothing but max_tokens ends it."))
        elif len(ours) == len(right) and ours != right and ours[0] == right[0]:
            told.add(
                (
                    "generate_later_tokens",
                    "Your first token is right and a later one is not: is each new token fed, and its own row read?",
                )
            )
        elif len(ours) == len(right) and ours != right:
            told.add(
                (
                    "generate_first_token",
                    "Your first token is wrong already: it is the likeliest in the row of the prompt's last token.",
                )
            )
        elif ours != right:
            return None
    return only(told)


def hidden_texts(rng):
    return [text_case(int(seed), int(rng.integers(2, 9))) for seed in rng.choice(CLEAR[6:], 3, replace=False)]


def observe_generate_cost(student, case):
    """How many rows pass through the network more than once, as far as the parts of Q1 to Q3 are called for it.

    What the student's own cache spends on the same text is no fault of this question's.
    """
    params, n_head = model_of(case)
    num_tokens, width, n_layer = len(case["prompt"]) + case["max_tokens"], params["wte"].shape[1], case["n_layer"]
    counts = student.watch("causal_attention", "layer_norm", "gelu")
    row = dict(zip(counts, (n_layer * width, (2 * n_layer + 1) * width, 4 * n_layer * width), strict=True))
    tokens = student.generate(params, n_head, case["prompt"], case["max_tokens"])
    spent = dict(counts)
    cache = student.keep.new_cache(params, n_head, num_tokens)
    for fed in [case["prompt"], *([token] for token in tokens)]:
        student.forward_cached(params, n_head, fed, cache)
    again = [(spent[name] - max(num_tokens * row[name], counts[name] - spent[name])) / row[name] for name in counts]
    return {"rows computed again": max(0, *(int(np.ceil(rows)) for rows in again))}


def cost_cases():
    return [text_case(CLEAR[2], 8), text_case(CLEAR[3], 8), text_case(CLEAR[5], 5)]


def hidden_cost(rng):
    return [text_case(int(seed), int(rng.integers(5, 9))) for seed in rng.choice(CLEAR[6:], 2, replace=False)]


# q8


def observe_rows(student, case):
    return student.forward_rows(case["num_prompt"], case["num_new"], case["cached"])


def rows_cases():
    sizes = [(5, 1), (1, 1), (3, 0), (4, 2), (7, 10)]
    return [{"num_prompt": p, "num_new": n, "cached": cached} for p, n in sizes for cached in (True, False)]


def explain_rows(cases, observed, expected):
    """Say whether it is the run with a cache or the one without that is wrong."""
    wrong = {True: False, False: False}
    for case, ours, right in zip(cases, observed, expected, strict=True):
        wrong[case["cached"]] |= ours != right
    swapped = [observed[i ^ 1] for i in range(10)] == list(expected[:10])
    if swapped:
        return "rows_swapped", "You have the two the wrong way round: `cached` is the run with the cache."
    if wrong[True] != wrong[False]:
        words = ("rows_with_a_cache", "You are right without a cache and wrong with it.")
        return words if wrong[True] else ("rows_without_a_cache", "You are right with a cache and wrong without it.")
    return None


def hidden_rows(rng):
    return [
        {"num_prompt": int(rng.integers(1, 50)), "num_new": int(rng.integers(0, 50)), "cached": bool(cached)}
        for cached in (0, 1, 0, 1)
    ]


def observe_bytes(student, case):
    return student.cache_bytes(case["n_layer"], case["n_embd"], case["num_tokens"], case["bytes_per_number"])


def bytes_case(n_layer, n_embd, num_tokens, bytes_per_number):
    return {"n_layer": n_layer, "n_embd": n_embd, "num_tokens": num_tokens, "bytes_per_number": bytes_per_number}


def bytes_cases():
    return [bytes_case(1, 1, 1, 1), bytes_case(12, 768, 1024, 4), bytes_case(2, 6, 3, 2)]


def explain_bytes(cases, observed, expected):
    """Say by what number all results are too large or too small."""
    factors = [ours / right for ours, right in zip(observed, expected, strict=True)]
    if np.allclose(factors, factors[0]):
        return "bytes_times_a_number", f"Your result is the right one times {factors[0]:.6g}."
    return None


def hidden_bytes(rng):
    return [bytes_case(*(int(number) for number in rng.integers(2, 99, 4)))]


CHECKS = [
    Check(
        "a1.q1.rows",
        observe_norm,
        cases=norm_cases(),
        hidden=hidden_norm,
        search=search_norm,
        same=NUMBERS,
        explain=explain_norm,
        arguments=("weight", "bias"),
    ),
    Check("a1.q1.small", observe_norm, cases=small_cases(), hidden=hidden_small, same=NUMBERS, explain=explain_norm),
    Check("a1.q2.gelu", observe_gelu, cases=gelu_cases(), hidden=hidden_gelu, same=GELU, explain=explain_gelu),
    Check(
        "a1.q3.attention",
        observe_attention,
        cases=attention_cases(),
        hidden=hidden_attention,
        search=lambda: search_attention(max_more=0),
        same=NUMBERS,
        explain=explain_attention,
    ),
    Check(
        "a1.q3.block",
        observe_attention,
        cases=block_cases(),
        hidden=hidden_block,
        search=lambda: search_attention(max_more=3),
        same=NUMBERS,
        explain=explain_attention,
    ),
    Check("a1.q3.large", observe_large, cases=large_cases(), hidden=hidden_large, same=LARGE),
    Check(
        "a1.q4.logits",
        observe_forward,
        cases=forward_cases(),
        hidden=hidden_forward,
        search=search_forward,
        same=NUMBERS,
        explain=explain_forward,
        show=show_model,
    ),
    Check(
        "a1.q5.chunks",
        observe_script,
        cases=chunk_cases(),
        hidden=hidden_chunks,
        search=search_chunks,
        same=NUMBERS,
        explain=explain_script,
        after=("a1.q4.logits",),
        show=show_script,
    ),
    Check("a1.q5.once", observe_script, cases=once_cases(), hidden=hidden_once, same=NUMBERS, show=show_script),
    Check(
        "a1.q6.rollback",
        observe_script,
        cases=rollback_cases(),
        hidden=hidden_rollback,
        search=search_rollback,
        same=NUMBERS,
        explain=explain_rollback,
        after=("a1.q4.logits", "a1.q5.chunks"),
        show=show_script,
    ),
    Check(
        "a1.q7.greedy",
        observe_generate,
        cases=with_drawn(text_cases(), hidden_texts),
        hidden=hidden_texts,
        show=show_model,
        explain=explain_texts,
        after=("a1.q4.logits", "a1.q5.chunks"),
    ),
    Check("a1.q7.cost", observe_generate_cost, cases=cost_cases(), hidden=hidden_cost, show=show_model),
    Check(
        "a1.q8.rows",
        observe_rows,
        cases=with_drawn(rows_cases(), hidden_rows),
        hidden=hidden_rows,
        explain=explain_rows,
    ),
    Check("a1.q8.bytes", observe_bytes, cases=bytes_cases(), hidden=hidden_bytes, explain=explain_bytes),
]
