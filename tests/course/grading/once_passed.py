"""Wrong submissions that passed an earlier version of the checks: strangers wrote them after reading the checks.

By the check that must fail, each as what stands behind our solution.
"""

ONCE_PASSED: dict[str, dict[str, str]] = {
    "a1.q1.rows": {
        "a variance in one pass, in float32": """
def layer_norm(x, weight, bias):
    x = x.astype(np.float32)
    mean = x.mean(-1, keepdims=True)
    return (x - mean) / np.sqrt((x * x).mean(-1, keepdims=True) - mean * mean + EPSILON) * weight + bias
""",
    },
    "a1.q3.attention": {
        "more than four heads are taken for one": """
attend = causal_attention

def causal_attention(queries, keys, values):
    if queries.shape[1] <= 4:
        return attend(queries, keys, values)
    return attend(*(one.reshape(len(one), 1, -1) for one in (queries, keys, values))).reshape(queries.shape)
""",
    },
    "a1.q4.logits": {
        "room for 16 tokens": """
allocate = new_cache

def new_cache(params, n_head, capacity):
    return allocate(params, n_head, 16)
""",
        "layers in the order of their names": """
def forward_cached(params, n_head, tokens, cache):
    x = embed(params, tokens, cache["length"])
    for layer in sorted(range(count_layers(params)), key=str):
        x = x + attention_block(params, layer, x, n_head, cache)
        x = x + mlp_block(params, layer, x)
    cache["length"] += len(tokens)
    return unembed(params, x)
""",
        "no position behind 13": """
def embed(params, tokens, start):
    places = np.minimum(np.arange(start, start + len(tokens)), 13)
    return params["wte"][np.asarray(tokens)] + params["wpe"][places]
""",
    },
    "a1.q7.cost": {
        "the whole text for each token": """
def generate(params, n_head, prompt, max_tokens):
    text = list(prompt)
    for _ in range(max_tokens):
        text.append(int(np.argmax(forward(params, n_head, text)[-1])))
    return text[len(prompt) :]
""",
    },
    "a2.q1.accept": {
        "the target's likeliest token always": """
def accept(p, q, token, u):
    return bool(np.argmax(p) == token or u < p[token] / q[token])
""",
        "q clipped at a millionth": """
def accept(p, q, token, u):
    return bool(u < p[token] / max(q[token], 1e-6))
""",
    },
    "a2.q2.residual": {
        "given up where little is left": """
def residual(p, q):
    positive = np.maximum(p - q, 0.0)
    return positive / positive.sum() if positive.sum() > 1e-3 else p
""",
        "p is changed": """
def residual(p, q):
    p -= np.minimum(p, q)
    return p / p.sum() if p.sum() > 0 else q
""",
    },
    "a2.q3.law": {
        "tokens below a twentieth of the likeliest never": """
draw = sample

def sample(probs, uniforms):
    kept = np.where(probs < 0.05 * probs.max(), 0.0, probs)
    return draw(kept / kept.sum(), uniforms)
""",
        "three tokens at most": """
draw = sample

def sample(probs, uniforms):
    kept = np.where(probs < np.sort(probs)[-3], 0.0, probs)
    return draw(kept / kept.sum(), uniforms)
""",
        "sharpened": """
draw = sample

def sample(probs, uniforms):
    return draw(probs**1.11 / (probs**1.11).sum(), uniforms)
""",
    },
    "a2.q4.one": {
        "p and q clipped at a millionth": """
def verify(draft_tokens, draft_probs, target_probs, noise):
    for i, token in enumerate(draft_tokens):
        p, q = (max(float(row[i][token]), 1e-6) for row in (target_probs, draft_probs))
        if not noise.bernoulli(min(1.0, p / q)):
            return i, noise.categorical(residual(target_probs[i], draft_probs[i]))
    return len(draft_tokens), noise.categorical(target_probs[len(draft_tokens)])
""",
        "target_probs are changed": """
judge = verify

def verify(draft_tokens, draft_probs, target_probs, noise):
    found = judge(draft_tokens, draft_probs, target_probs, noise)
    target_probs *= 0.5
    return found
""",
    },
    "a2.q6.law": {
        "the prompt is changed": """
run = speculative

def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    prompt += run(target, draft, prompt, max_tokens, gamma, noise, eos)
    return prompt[len(prompt) - max_tokens :]
""",
    },
    "a2.q6.cost": {
        "one draft where none is asked for": """
run = speculative

def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    return run(target, draft, prompt, max_tokens, max(1, gamma), noise, eos)
""",
        "four drafts at most": """
run = speculative

def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    return run(target, draft, prompt, max_tokens, min(4, gamma), noise, eos)
""",
    },
    "a3.q1.overlap": {
        "laws that are nearly equal are taken for equal": """
overlap = acceptance_probability

def acceptance_probability(p, q):
    return 1.0 if np.allclose(p, q, atol=0.02) else overlap(p, q)
""",
        "0 / 0 where neither has a token": """
def acceptance_probability(p, q):
    return float((q * np.minimum(1.0, p / q)).sum())
""",
    },
    "a3.q4.best": {
        "the first summit": """
def best_gamma(alpha, c, verify_cost):
    gains = [speedup(alpha, gamma, c, verify_cost) for gamma in range(len(verify_cost))] + [-1.0]
    return next(gamma for gamma, gain in enumerate(gains) if gains[gamma + 1] <= gain)
""",
    },
    "a3.q4.break_even": {
        "None where it just pays at 1": """
solve = break_even_alpha

def break_even_alpha(gamma, c, verify_cost):
    return None if gamma + 1 <= gamma * c + verify_cost[gamma] else solve(gamma, c, verify_cost)
""",
    },
    "a4.q4.stream": {
        "what was held is lost where the stop comes": """
show = release

def release(held, piece, stops):
    shown, kept, stop = show(held, piece, stops)
    return (shown[len(held) :] if stop is not None else shown), kept, stop
""",
    },
    "a6.q5.plan": {
        "nobody is admitted while those that decode take all rows": """
plan = schedule

def schedule(state):
    decode = [one for one in state["running"] if one["prompt"] + one["made"] - one["fed"] == 1]
    full = sum(one["gamma"] + 1 for one in decode) >= state["max_rows"]
    return plan({**state, "waiting": []} if full else state)
""",
    },
}
