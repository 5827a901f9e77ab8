"""Wrong answers as people write them, and right ones as hardly anybody does: held out from the lessons' own lists.

Each is an expression or a function; ``ours`` is the reference of the step, and the names of the lesson's checks are there to be used.
"""

WRONG: dict[str, list[str]] = {
    "01.embed": [
        "lambda wte, wpe, tokens, start=0: wte[tokens] + wpe[start : start + len(tokens) - 1]",
        "lambda wte, wpe, tokens, start=0: wte[tokens] * wpe[start : start + len(tokens)]",
        "lambda wte, wpe, tokens, start=0: wpe[tokens] + wte[start : start + len(tokens)]",
        "lambda wte, wpe, tokens, start=0: wte[tokens] + wpe[start + 1 : start + 1 + len(tokens)]",
        "lambda wte, wpe, tokens, start=0: np.concatenate([wte[tokens], wpe[start : start + len(tokens)]], axis=-1)",
        "lambda wte, wpe, tokens, start=0: wte[sorted(tokens)] + wpe[start : start + len(tokens)]",
        "lambda wte, wpe, tokens, start=0: (wte[tokens] + wpe[start : start + len(tokens)]).tolist()",
        "lambda wte, wpe, tokens, start=0: np.array([wte[t] + wpe[(t + start) % len(wpe)] for t in tokens])",
        "lambda wte, wpe, tokens, start=0: wte[tokens] + wpe[1 : len(tokens) + 1]",
        "lambda wte, wpe, tokens, start=0: (wte[tokens] + wpe[start : start + len(tokens)]) / 2",
        "lambda wte, wpe, tokens, start=0: wte[tokens] + np.arange(start, start + len(tokens))[:, None]",
        "lambda wte, wpe, tokens, start=0: sum(wte[t] + wpe[start + i] for i, t in enumerate(tokens))",
        "lambda wte, wpe, tokens, start=0: wte[tokens] * np.sqrt(wte.shape[1]) + wpe[start : start + len(tokens)]",
    ],
    "01.layer_norm": [
        "lambda x, w, b, epsilon=1e-5: (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True)) * w + b",
        "lambda x, w, b, epsilon=1e-5: ((x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + epsilon) + b) * w",
        "lambda x, w, b, epsilon=1e-5: (x - x.mean(-1, keepdims=True)) / (x.var(-1, keepdims=True) + epsilon) * w + b",
        "lambda x, w, b, epsilon=1e-5: (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5) * w + b",
        "lambda x, w, b, epsilon=1e-5: x / np.sqrt(x.var(-1, keepdims=True) + epsilon) * w + b",
        "lambda x, w, b, epsilon=1e-5: (x - x.mean(-1, keepdims=True)) / np.sqrt((x**2).mean(-1, keepdims=True) + epsilon) * w + b",
        "lambda x, w, b, epsilon=1e-5: (x - np.median(x, -1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + epsilon) * w + b",
        "lambda x, w, b, epsilon=1e-5: (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + epsilon**2) * w + b",
        "lambda x, w, b, epsilon=1e-5: (x - x.mean(-1, keepdims=True)) / np.maximum(x.std(-1, keepdims=True), epsilon) * w + b",
        "lambda x, w, b, epsilon=1e-5: (x - x.mean(-1, keepdims=True)) / np.sqrt(((x - x.mean(-1, keepdims=True)) ** 2).sum(-1, keepdims=True) + epsilon) * w + b",
        "lambda x, w, b, epsilon=1e-5: (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var() + epsilon) * w + b",
        "lambda x, w, b, epsilon=1e-5: (x - x.mean()) / np.sqrt(x.var(-1, keepdims=True) + epsilon) * w + b",
        "lambda x, w, b, epsilon=1e-5: ours(x, w, b, epsilon) + x",
    ],
    "01.attention": [
        "lambda q, k, v: ours(q, k, v)[::-1]",
        "lambda q, k, v: ours(q, v, k)",
        "lambda q, k, v: ours(q * np.sqrt(q.shape[1]) / q.shape[0] ** 0.5, k, v)",
        "lambda q, k, v: np.tril(np.exp(q @ k.T / q.shape[1] ** 0.5)) @ v / np.exp(q @ k.T / q.shape[1] ** 0.5).sum(1, keepdims=True)",
        "lambda q, k, v: np.tril(softmax(q @ k.T / q.shape[1] ** 0.5)) @ v",
        "lambda q, k, v: _masked_with(q, k, v, -10.0)",
        "lambda q, k, v: _masked_with(q, k, v, -1000.0)",
        "lambda q, k, v: ours(q, k, v).astype(int)",
        """
def attention(q, k, v):
    s = np.where(np.triu(np.ones((len(q), len(q)), bool), 1), -np.inf, q @ k.T / np.sqrt(q.shape[1]))
    e = np.exp(s - s.max())
    return e / e.sum(0) @ v
""",
        "lambda q, k, v: ours(q * q.shape[1], k, v)",
        """
def attention(q, k, v):
    s = np.where(np.triu(np.ones((len(q), len(q)), bool), 1), -np.inf, q @ k.T / np.sqrt(q.shape[1]))
    e = np.exp(s)
    return e / e.sum(-1, keepdims=True) @ v
""",
        """
def attention(q, k, v):
    s = np.where(np.triu(np.ones((len(q), len(q)), bool), 1), -np.inf, q @ k.T / np.sqrt(q.shape[1]))
    e = np.exp(s - s.max())
    return e / e.sum(-1, keepdims=True) @ v
""",
        "lambda q, k, v: ours(q, k, v) / len(q)",
        """
def attention(q, k, v):
    s = np.where(np.tril(np.ones((len(q), len(q)), bool), -1), -np.inf, q @ k.T / np.sqrt(q.shape[1]))
    e = np.exp(s - s.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True) @ v
""",
    ],
    "01.softmax": [
        "lambda logits, temperature=1.0: ours(logits, max(temperature, 0.5))",
        "lambda logits, temperature=1.0: ours(logits, round(2 * temperature) / 2)",
        "lambda logits, temperature=1.0: np.where(ours(logits, temperature) < 1e-3, 0, ours(logits, temperature))",
        "lambda logits, temperature=1.0: ours(logits.astype(int), temperature)",
        "lambda logits, temperature=1.0: np.exp(logits - logits.max()) / np.exp(logits - logits.max()).sum() / temperature",
        "lambda logits, temperature=1.0: ours(logits, temperature) / len(logits)",
        "lambda logits, temperature=1.0: np.exp((logits - logits.mean()) / temperature) / np.exp((logits - logits.mean()) / temperature).sum()",
        "lambda logits, temperature=1.0: np.log(ours(logits, temperature))",
        "lambda logits, temperature=1.0: ours(-logits, temperature)",
        "lambda logits, temperature=1.0: logits / logits.sum()",
        "lambda logits, temperature=1.0: np.exp(logits / temperature - logits.max()) / np.exp(logits / temperature - logits.max()).sum()",
        "lambda logits, temperature=1.0: 2.0 ** ((logits - logits.max()) / temperature) / (2.0 ** ((logits - logits.max()) / temperature)).sum()",
        "lambda logits, temperature=1.0: ours(logits) ** (1 / temperature)",
        "lambda logits, temperature=1.0: ours(logits, temperature**2)",
        "lambda logits, temperature=1.0: np.exp((logits - logits.min()) / temperature) / np.exp((logits - logits.min()) / temperature).sum()",
        "lambda logits, temperature=1.0: ours(np.clip(logits, -50, 50), temperature)",
        "lambda logits, temperature=1.0: ours(logits / np.abs(logits).max(), temperature)",
        "lambda logits, temperature=1.0: ours(logits, temperature) / ours(logits, temperature).max()",
    ],
    "02.visible": [
        "lambda n, s: np.tril(np.ones((n, s), bool))",
        "lambda n, s: np.tril(np.ones((n, s), bool), s - n - 1)",
        "lambda n, s: np.tril(np.ones((n, s), bool), s - n + 1)",
        "lambda n, s: ~np.tril(np.ones((n, s), bool), s - n)",
        "lambda n, s: np.tril(np.ones((s, s), bool))",
        "lambda n, s: np.tril(np.ones((s, n), bool), n - s)",
        "lambda n, s: np.tril(np.ones((n, s), bool), s - n).tolist()",
        "lambda n, s: np.triu(np.ones((n, s), bool), s - n)",
        "lambda n, s: np.arange(s)[None, :] < (s - n + np.arange(n))[:, None]",
        "lambda n, s: np.ones((n, s), bool)",
        "lambda n, s: np.arange(s)[None, :] <= (s - 1 - np.arange(n))[:, None]",
        "lambda n, s: np.array([[j < s - n or j == s - n + i for j in range(s)] for i in range(n)])",
        "lambda n, s: np.array([[j <= s - n for j in range(s)] for i in range(n)])",
        "lambda n, s: np.concatenate([np.tril(np.ones((n, n), bool)), np.ones((n, s - n), bool)], axis=1)",
    ],
    "02.after": [
        """
def after(operations):
    kept = []
    for name, argument in operations:
        if name == "store":
            kept += argument
        elif argument:
            kept = kept[:argument]
    return kept
""",
        "lambda operations: [t for t in ours(operations) if t > 0]",
        "lambda operations: ours(operations[:-1])",
        "lambda operations: ours(operations)[::-1]",
        "lambda operations: ours([(n, a - 1 if n == 'rollback' else a) for n, a in operations])",
        "lambda operations: ours([(n, a + 1 if n == 'rollback' else a) for n, a in operations])",
        "lambda operations: len(ours(operations))",
        "lambda operations: sorted(set(ours(operations)))",
        "lambda operations: list(operations[-1][1]) if operations[-1][0] == 'store' else ours(operations)",
        """
def after(operations):
    held = []
    for name, argument in operations:
        held = held + list(argument) if name == "store" else held[: len(held) - argument]
    return held
""",
        """
def after(operations):
    slots, length = np.full(64, -1), 0
    for name, argument in operations:
        if name == "store":
            slots[length : length + len(argument)] = argument
            length += len(argument)
        else:
            length = argument
    return slots[:length].tolist()
""",
        """
def after(operations):
    slots, length = np.full(64, -1), 0
    for name, argument in operations:
        if name == "store":
            slots[: len(argument)] = argument
            length += len(argument)
        else:
            length = min(length, argument)
    return slots[:length].tolist()
""",
        """
def after(operations):
    slots, length, written = np.full(64, -1), 0, 0
    for name, argument in operations:
        if name == "store":
            slots[written : written + len(argument)] = argument
            written += len(argument)
            length += len(argument)
        else:
            length = min(length, argument)
    return slots[:length].tolist()
""",
        "lambda operations: [t for name, argument in operations if name == 'store' for t in argument]",
    ],
    "02.cache_bytes": [
        "lambda l, c, n, b=4: 2 * l * c * n * (b if b < 4 else 4)",
        "lambda l, c, n, b=4: np.int32(2 * l) * np.int32(c) * np.int32(n) * np.int32(b)",
        "lambda l, c, n, b=4: 3 * l * c * n * b",
        "lambda l, c, n, b=4: 2 * l * c * n * b * 8",
        "lambda l, c, n, b=4: 2 * l * c * (n + 1) * b",
        "lambda l, c, n, b=4: 2 * l * c * n * n * b",
        "lambda l, c, n, b=4: 2 * l * c * b",
        "lambda l, c, n, b=4: 2 * l * c * n // b",
        "lambda l, c, n, b=4: 2 * l * c * n * b / 1024",
        "lambda l, c, n, b=4: 2 * (l + 1) * c * n * b",
        "lambda n_layer, n_embd, num_tokens, bytes_per_number=4: 2 * n_layer * n_embd * num_tokens * 4",
        "lambda n_layer, n_embd, num_tokens, bytes_per_number=4: n_layer * n_embd * num_tokens * bytes_per_number",
        "lambda n_layer, n_embd, num_tokens, bytes_per_number=4: 3 * n_layer * n_embd * num_tokens * bytes_per_number",
        "lambda n_layer, n_embd, num_tokens, bytes_per_number=4: 2 * n_embd * num_tokens * bytes_per_number",
        "lambda n_layer, n_embd, num_tokens, bytes_per_number=4: 2 * n_layer * n_embd * num_tokens**2 * bytes_per_number",
        "lambda n_layer, n_embd, num_tokens, bytes_per_number=4: 16 * n_layer * n_embd * num_tokens * bytes_per_number",
    ],
    "02.lacking": [
        "lambda t, c: (ours(t, c)[0], t[ours(t, c)[0] + 1 :])",
        "lambda t, c: (ours(t, c)[0] + 1, ours(t, c)[1])",
        "lambda t, c: (len(c), t[len(c) :])",
        "lambda t, c: (ours(t, c)[0], c[ours(t, c)[0] :])",
        "lambda t, c: ours(c, t)",
        "lambda t, c: ours(t, c)[1]",
        "lambda t, c: ours(t, c)[::-1]",
        "lambda t, c: (ours(t, c)[0], len(ours(t, c)[1]))",
        """
def lacking(tokens, in_cache):
    shared = sum(a == b for a, b in zip(tokens, in_cache))
    return shared, tokens[shared:]
""",
        "lambda tokens, in_cache: (len(in_cache), tokens[len(in_cache) :])",
        "lambda tokens, in_cache: ours(tokens, in_cache)[::-1]",
        "lambda tokens, in_cache: (ours(tokens, in_cache)[0], tokens[-1:])",
        "lambda tokens, in_cache: (len(in_cache) - ours(tokens, in_cache)[0], ours(tokens, in_cache)[1])",
        "lambda tokens, in_cache: (0, tokens)",
    ],
    "03.intensity": [
        "lambda m, b: 2 * min(m, 8) / b",
        "lambda rows, b: 2 * rows * b",
        "lambda rows, b: 2 * rows // b",
        "lambda rows, b: 2 * (rows + 1) / b",
        "lambda rows, b: 4 * rows / b",
        "lambda rows, b: (2 * rows - 1) / b",
        "lambda rows, b: 2 / (rows * b)",
        "lambda rows, b: rows**2 / b",
        "lambda rows, bytes_per_weight: rows / bytes_per_weight",
        "lambda rows, bytes_per_weight: 2 / bytes_per_weight",
        "lambda rows, bytes_per_weight: 2 * rows * bytes_per_weight",
        "lambda rows, bytes_per_weight: 2 / (rows * bytes_per_weight)",
        "lambda rows, bytes_per_weight: 2 * rows / (8 * bytes_per_weight)",
    ],
    "03.weights_read": [
        "lambda n, c, i, v: n * (4 * c * c + 2 * c * i) + 2 * c * v",
        "lambda n, c, i, v: n * (4 * c + 2 * i) + v",
        "lambda n, c, i, v: n * (4 * c * c + i * i) + c * v",
        "lambda n, c, i, v: n * (4 * c * c + 2 * c * i) + v",
        "lambda n, c, i, v: 4 * c * c + 2 * c * i + c * v",
        "lambda n, c, i, v: 4 * (n * (4 * c * c + 2 * c * i) + c * v)",
        "lambda n, c, i, v: n * (5 * c * c + 2 * c * i) + c * v",
        "lambda n, c, i, v: (n + 1) * (4 * c * c + 2 * c * i) + c * v",
        "lambda n_layer, n_embd, n_inner, vocab_size: n_layer * (4 * n_embd**2 + n_embd * n_inner) + n_embd * vocab_size",
        "lambda n_layer, n_embd, n_inner, vocab_size: n_layer * (4 * n_embd**2 + 2 * n_embd * n_inner)",
        "lambda n_layer, n_embd, n_inner, vocab_size: n_layer * (3 * n_embd**2 + 2 * n_embd * n_inner) + n_embd * vocab_size",
        "lambda n_layer, n_embd, n_inner, vocab_size: n_layer * (12 * n_embd**2) + n_embd * vocab_size",
        "lambda n_layer, n_embd, n_inner, vocab_size: n_layer * (4 * n_embd**2 + 2 * n_embd * n_inner + n_embd * vocab_size)",
        "lambda n_layer, n_embd, n_inner, vocab_size: n_layer * (4 * n_embd**2 + 2 * n_embd * n_inner) + 2 * n_embd * vocab_size",
    ],
    "03.floor_seconds": [
        "lambda n, m, b, w, p: max(n * b / w, 2 * m * n / p, 1e-6)",
        "lambda n, rows, b, bw, peak: max(n / b / bw, 2 * rows * n / peak)",
        "lambda n, rows, b, bw, peak: max(n * b / bw, 2 * rows * n * b / peak)",
        "lambda n, rows, b, bw, peak: max(n * b * bw, 2 * rows * n * peak)",
        "lambda n, rows, b, bw, peak: (n * b / bw + 2 * rows * n / peak) / 2",
        "lambda n, rows, b, bw, peak: 2 * rows * n / peak",
        "lambda n, rows, b, bw, peak: max(n * b / peak, 2 * rows * n / bw)",
        "lambda n, rows, b, bw, peak: 1000 * ours(n, rows, b, bw, peak)",
        "lambda n, rows, b, bw, peak: max(bw / (n * b), peak / (2 * rows * n))",
        "lambda n, rows, size, bandwidth, peak: n * size / bandwidth + 2 * rows * n / peak",
        "lambda n, rows, size, bandwidth, peak: min(n * size / bandwidth, 2 * rows * n / peak)",
        "lambda n, rows, size, bandwidth, peak: max(n * size / bandwidth, rows * n / peak)",
        "lambda n, rows, size, bandwidth, peak: max(rows * n * size / bandwidth, 2 * rows * n / peak)",
        "lambda n, rows, size, bandwidth, peak: max(n * size / peak, 2 * rows * n / bandwidth)",
        "lambda n, rows, size, bandwidth, peak: n * size / bandwidth",
    ],
    "03.ridge_rows": [
        "lambda b, w, p: max(1.0, b * p / (2 * w))",
        "lambda b, bw, peak: peak / bw",
        "lambda b, bw, peak: peak / (2 * bw)",
        "lambda b, bw, peak: b * bw / (2 * peak)",
        "lambda b, bw, peak: int(b * peak / (2 * bw))",
        "lambda b, bw, peak: b * peak / bw / 4",
        "lambda b, bw, peak: b * peak / (2 * bw) + 1",
        "lambda size, bandwidth, peak: peak / bandwidth",
        "lambda size, bandwidth, peak: size * peak / bandwidth",
        "lambda size, bandwidth, peak: 2 * peak / (size * bandwidth)",
        "lambda size, bandwidth, peak: size * bandwidth / (2 * peak)",
        "lambda size, bandwidth, peak: 2 * bandwidth / (size * peak)",
    ],
    "04.decide": [
        "lambda d, c: (lambda a: (a, c[a]))(next((i for i, (x, y) in enumerate(zip(d, c)) if not x or x != y), len(d)))",
        "lambda d, c: (lambda a: (a, c[a] or c[-1]))(ours(d, c)[0])",
        "lambda d, c: (ours(d, c)[0], c[0])",
        "lambda d, c: ours(d, c)[::-1]",
        "lambda d, c: (len(d), c[-1])",
        "lambda d, c: (0, c[0])",
        "lambda d, c: (ours(d, c)[0] + 1, ours(d, c)[1])",
        "lambda d, c: (ours(d, c)[0], None if ours(d, c)[0] == len(d) else ours(d, c)[1])",
        "lambda d, c: (next((i for i in range(len(d)) if d[i] != c[i]), 0), ours(d, c)[1])",
        "lambda d, c: (len(set(d) & set(c)), c[min(len(set(d) & set(c)), len(c) - 1)])",
        "lambda drafted, choices: (sum(d == c for d, c in zip(drafted, choices)), choices[sum(d == c for d, c in zip(drafted, choices))])",
        "lambda drafted, choices: (ours(drafted, choices)[0], choices[-1])",
        "lambda drafted, choices: (ours(drafted, choices)[0], choices[ours(drafted, choices)[0] - 1])",
        "lambda drafted, choices: (ours(drafted, choices)[0], (drafted + choices[-1:])[ours(drafted, choices)[0]])",
        "lambda drafted, choices: (len(drafted), choices[-1]) if drafted == choices[:-1] else (0, choices[0])",
        "lambda drafted, choices: (ours(drafted, choices)[0] + 1, ours(drafted, choices)[1])",
    ],
    "04.speculate": [
        "lambda p, c, prompt, g, n: (ours(p, c, prompt, g, n)[0], ours(p, c, prompt, g, n)[1] - 1)",
        "lambda p, c, prompt, g, n: (ours(p, c, prompt, g, n)[0], n)",
        "lambda p, c, prompt, g, n: ours(p, c, prompt, g, n)[0]",
        "lambda p, c, prompt, g, n: ours(p, c, prompt, g + 1, n)",
        "lambda p, c, prompt, g, n: ours(p, c, prompt, g, n + 1)",
        "lambda p, c, prompt, g, n: ours(p, c, prompt[1:], g, n)",
        "lambda p, c, prompt, g, n: (p(prompt, n), ours(p, c, prompt, g, n)[1])",
        "lambda p, c, prompt, g, n: ours(p, c, prompt, 1, n)",
        """
def speculate(propose, choose, prompt, gamma, num_tokens):
    new, rounds = [], 0
    while len(new) < num_tokens:
        tokens = [*prompt, *new]
        drafted = propose(tokens, gamma)
        accepted, following = decide(drafted, choose(tokens, drafted))
        new += [*drafted[:accepted], following]
        rounds += 1
    return new, rounds
""",
        """
def speculate(propose, choose, prompt, gamma, num_tokens):
    new, rounds = [], 0
    while len(new) < num_tokens:
        drafted = propose(new, min(gamma, num_tokens - len(new) - 1))
        accepted, following = decide(drafted, choose(new, drafted))
        new += [*drafted[:accepted], following]
        rounds += 1
    return new, rounds
""",
        """
def speculate(propose, choose, prompt, gamma, num_tokens):
    new, rounds = [], 0
    while len(new) < num_tokens:
        tokens = [*prompt, *new]
        drafted = propose(tokens, min(gamma, num_tokens - len(new) - 1))
        accepted, following = decide(drafted, choose(tokens, drafted))
        new += drafted[:accepted] or [following]
        rounds += 1
    return new, rounds
""",
        "lambda propose, choose, prompt, gamma, num_tokens: ([*prompt, *ours(propose, choose, prompt, gamma, num_tokens)[0]], ours(propose, choose, prompt, gamma, num_tokens)[1])",
        "lambda propose, choose, prompt, gamma, num_tokens: (ours(propose, choose, prompt, gamma, num_tokens)[0], num_tokens)",
    ],
    "04.per_pass": [
        "lambda n, a: n / a if a else 1.0",
        "lambda n, a: n / (n - a + 1)",
        "lambda n, a: n // (n - a)",
        "lambda n, a: (n - a) / a if a else 1.0",
        "lambda n, a: n - a",
        "lambda n, a: (n + a) / n",
        "lambda n, a: (n + 1) / (n - a)",
        "lambda num_tokens, num_accepted: num_tokens / num_accepted if num_accepted else 1.0",
        "lambda num_tokens, num_accepted: num_accepted / num_tokens",
        "lambda num_tokens, num_accepted: num_accepted / (num_tokens - num_accepted)",
        "lambda num_tokens, num_accepted: num_tokens - num_accepted",
        "lambda num_tokens, num_accepted: num_tokens / (num_tokens - num_accepted) + 1",
    ],
    "05.accept": [
        "lambda p, q, u: u < min(1.0, q / p) if p else False",
        "lambda p, q, u: u < q",
        "lambda p, q, u: u < max(1.0, p / q)",
        "lambda p, q, u: p >= q",
        "lambda p, q, u: u > min(1.0, p / q)",
        "lambda p, q, u: u < p - q",
        "lambda p, q, u: min(1.0, p / q)",
        "lambda p, q, u: u < p * q",
        "lambda p, q, u: u <= min(1.0, p / q)",
        "lambda p, q, u: u < p",
        "lambda p, q, u: u < round(p / q, 3)",
        "lambda p, q, u: u < p / (q + 1e-6)",
    ],
    "05.residual": [
        "lambda p, q: p if np.allclose(p, q) else ours(p, q)",
        "lambda p, q: np.where(ours(p, q) < 1e-3, 0, ours(p, q))",
        "lambda p, q: np.round(ours(p, q), 6)",
        "lambda p, q: p if np.allclose(p, q, atol=0.05) else ours(p, q)",
        "lambda p, q: p if np.allclose(p, q, atol=1e-4) else ours(p, q)",
        "lambda p, q: np.where(q > 0, np.maximum(p - q, 0), 0) / max(np.where(q > 0, np.maximum(p - q, 0), 0).sum(), 1e-30) if (p > q).any() else p",
        "lambda p, q: np.maximum(p - q, 0) / p.sum()",
        "lambda p, q: np.minimum(p, q) / np.minimum(p, q).sum() if np.minimum(p, q).sum() else p",
        "lambda p, q: np.maximum(p - q, 0) / np.maximum(p - q, 0).max() if (p > q).any() else p",
        "lambda p, q: (p - q) / np.maximum(p - q, 0).sum() if (p > q).any() else p",
        "lambda p, q: np.maximum(p - q, 0) / np.maximum(p - q, 0).sum()",
        "lambda p, q: np.where(p > q, p, 0) / np.where(p > q, p, 0).sum() if (p > q).any() else p",
        "lambda p, q: np.clip(p - q, 0, None) / (1 - np.minimum(p, q).max()) if (p > q).any() else p",
        "lambda p, q: np.exp(ours(p, q)) / np.exp(ours(p, q)).sum()",
        "lambda p, q: np.maximum(p - q, 0) / len(p)",
        "lambda p, q: np.maximum(p - q, 0) / (1 - np.maximum(p - q, 0).sum())",
        "lambda p, q: (p - q) / np.maximum(p - q, 0).sum() if np.any(p > q) else p.copy()",
        "lambda p, q: np.exp(p - q) / np.exp(p - q).sum()",
        "lambda p, q: np.where(p > q, p, 0) / np.where(p > q, p, 0).sum() if np.any(p > q) else p.copy()",
        "lambda p, q: np.maximum(p - q, 0) / np.maximum(p - q, 0).sum() if np.any(p > q) else np.zeros_like(p)",
    ],
    "05.judge": [
        "lambda p, q, t, a, n: t if a <= min(1, p[t] / q[t]) else draw(residual(p, q), n)",
        "lambda p, q, t, a, n: t if a < p[t] / q[t] else int(np.searchsorted(np.cumsum(residual(p, q).astype(np.float32)), n, side='right'))",
        "lambda p, q, token, ua, un: token if ua < p[token] else draw(residual(p, q), un)",
        "lambda p, q, token, ua, un: token if accept(q[token], p[token], ua) else draw(residual(q, p), un)",
        "lambda p, q, token, ua, un: token if accept(p[token], q[token], ua) else draw(residual(p, q), ua)",
        "lambda p, q, token, ua, un: token if accept(p[token], q[token], ua) else draw(residual(p, q), 1 - un)",
        "lambda p, q, token, ua, un: token if accept(p[token], q[token], ua) else draw(q, un)",
        "lambda p, q, token, ua, un: token if accept(p[token], q[token], ua) else draw(np.maximum(p - q, 0), un)",
        "lambda p, q, token, ua, un: token if accept(p[token], q[token], ua) else int(np.argmax(residual(p, q)))",
        "lambda p, q, token, ua, un: token if accept(p[token], q[token], ua) else -1",
        "lambda p, q, token, ua, un: draw(residual(p, q), un)",
        "lambda p, q, token, ua, un: token if accept(p[token], q[token], ua) else (token + 1) % len(p)",
        "lambda p, q, token, ua, un: token if ua < min(1.0, p[token] / q[token]) else draw(residual(q, p), un)",
        "lambda p, q, token, ua, un: token if un < min(1.0, p[token] / q[token]) else draw(residual(p, q), ua)",
        "lambda p, q, token, ua, un: draw(p, ua) if ua >= min(1.0, p[token] / q[token]) else token",
        "lambda p, q, token, ua, un: token if ua < min(1.0, p[token] / q[token]) else draw(q, un)",
        "lambda p, q, token, ua, un: draw(residual(p, q), un) if ua < min(1.0, p[token] / q[token]) else token",
    ],
    "05.one_token": [
        "lambda noise, p, q: int(residual(p, q).argmax()) if noise.bernoulli(0.5, ACCEPT) else noise.categorical(q, DRAFT)",
        "lambda noise, p, q: _one_token(noise, p, q, chance=lambda p, q: round(p / q, 3))",
        "lambda noise, p, q: _one_token(noise, p, q, chance=lambda p, q: 1.0 if abs(p - q) < 1e-3 else p / q)",
        "lambda noise, p, q: _one_token(noise, p, q, chance=lambda p, q: p / (p + q))",
        "lambda noise, p, q: _one_token(noise, p, q, chance=lambda p, q: p)",
        "lambda noise, p, q: _one_token(noise, p, q, instead=lambda p, q: p)",
        "lambda noise, p, q: _one_token(noise, p, q, instead=lambda p, q: q)",
        "lambda noise, p, q: _one_token(noise, p, q, instead=lambda p, q: residual(q, p))",
        "lambda noise, p, q: noise.categorical(q, DRAFT)",
        "lambda noise, p, q: noise.categorical(p, RESIDUAL)",
        "lambda noise, p, q: draw(p, 0.5)",
        """
def one_token(noise, p, q):
    token = noise.categorical(q, DRAFT)
    if noise.bernoulli(min(1.0, p[token] / q[token]), DRAFT):
        return token
    return noise.categorical(residual(p, q), RESIDUAL)
""",
        """
def one_token(noise, p, q):
    token = noise.categorical(q, DRAFT)
    if noise.bernoulli(min(1.0, p[token] / q[token]), ACCEPT):
        return token
""",
    ],
    "05.two_ways": [
        "lambda p, q: ours(p, q)[::-1]",
        "lambda p, q: ours(p, q).T",
        "lambda p, q: np.array([p, np.zeros_like(p)])",
        "lambda p, q: np.array([np.minimum(p, q), residual(p, q)])",
        "lambda p, q: np.array([np.minimum(p, q), (1 - np.minimum(p, q)) * residual(p, q)])",
        "lambda p, q: np.array([q * np.minimum(1, p), ours(p, q)[1]])",
        "lambda p, q: np.array([np.minimum(p, q), np.abs(p - q)])",
        "lambda p, q: list(ours(p, q))",
        "lambda p, q: np.array([np.minimum(p, q) / np.minimum(p, q).sum(), residual(p, q)])",
        "lambda p, q: np.array([q, p - q])",
        "lambda p, q: np.array([np.minimum(p, q), p - q])",
        "lambda p, q: np.array([np.minimum(p, q), np.minimum(p, q).sum() * residual(p, q)])",
        "lambda p, q: np.array([np.minimum(1, p / q), (1 - np.minimum(p, q).sum()) * residual(p, q)])",
    ],
    "06.tau": [
        "lambda a, g: g + 1 if abs(1 - a) < 1e-3 else (1 - a ** (g + 1)) / (1 - a)",
        "lambda a, g: ours(a, min(g, 8))",
        "lambda a, g: (1 - a**g) / (1 - a) if a < 1 else float(g)",
        "lambda a, g: g + 1 if abs(1 - a) < 0.02 else ours(a, g)",
        "lambda a, g: 1 / (1 - a) if a < 1 else float('inf')",
        "lambda a, g: sum(a**k for k in range(1, g + 2))",
        "lambda a, g: (1 + a) ** g",
        "lambda a, g: 1 + a**g",
        "lambda a, g: (g + 1) * a",
        "lambda a, g: sum(k * a**k for k in range(g + 1))",
        "lambda a, g: round(ours(a, g), 2)",
        "lambda alpha, gamma: sum(alpha**k for k in range(gamma))",
        "lambda alpha, gamma: (1 - alpha ** (gamma + 1)) / (1 - alpha) if alpha < 1 else 1.0",
        "lambda alpha, gamma: (1 - alpha**gamma) / (1 - alpha) if alpha < 1 else float(gamma)",
        "lambda alpha, gamma: 1 + gamma * alpha",
        "lambda alpha, gamma: 1 / (1 - alpha) if alpha < 1 else gamma + 1",
        "lambda alpha, gamma: sum(alpha * k for k in range(gamma + 1))",
    ],
    "06.acceptance_rate": [
        "lambda a, g: 1.0 if abs(1 - a) < 1e-3 else (ours(a, g))",
        "lambda a, g: tau(a, g) / (g + 1)",
        "lambda a, g: (tau(a, g) - 1) / (g + 1)",
        "lambda a, g: a**g",
        "lambda a, g: tau(a, g) - 1",
        "lambda a, g: a / g",
        "lambda a, g: (tau(a, g - 1) - 1) / g",
        "lambda a, g: 1 - (tau(a, g) - 1) / g",
        "lambda alpha, gamma: tau(alpha, gamma) / gamma",
        "lambda alpha, gamma: (tau(alpha, gamma) - 1) / (gamma + 1)",
        "lambda alpha, gamma: tau(alpha, gamma) / (gamma + 1)",
        "lambda alpha, gamma: alpha",
        "lambda alpha, gamma: alpha**gamma",
    ],
    "06.alpha_of": [
        "lambda r, g: min(0.999, ours(r, g))",
        "lambda r, g: max(0.1, ours(r, g))",
        "lambda r, g: r * g",
        "lambda r, g: r / g",
        "lambda r, g: round(ours(r, g), 2)",
        "lambda r, g: r**g",
        "lambda r, g: ours(r, g + 1)",
        "lambda r, g: 1 - ours(r, g)",
        "lambda r, g: (1 + ours(r, g)) / 2",
        "lambda rate, gamma: rate",
        "lambda rate, gamma: rate ** (1 / gamma)",
        "lambda rate, gamma: acceptance_rate(rate, gamma)",
        """
def alpha_of(rate, gamma):
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        if acceptance_rate(middle, gamma) > rate:
            low = middle
        else:
            high = middle
    return (low + high) / 2
""",
        """
def alpha_of(rate, gamma):
    low, high = 0.0, 1.0
    for _ in range(8):
        middle = (low + high) / 2
        if acceptance_rate(middle, gamma) < rate:
            low = middle
        else:
            high = middle
    return (low + high) / 2
""",
        """
def alpha_of(rate, gamma):
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        if tau(middle, gamma) / (gamma + 1) < rate:
            low = middle
        else:
            high = middle
    return (low + high) / 2
""",
    ],
    "06.speedup": [
        "lambda a, g, c, v=1.0: ours(a, g, c, v) if g else 1.0",
        "lambda a, g, c, v=1.0: tau(a, g) / (c + v * g)",
        "lambda a, g, c, v=1.0: (tau(a, g) - 1) / (g * c + v)",
        "lambda a, g, c, v=1.0: tau(a, g) / g * c + v if g else ours(a, g, c, v) + 1",
        "lambda a, g, c, v=1.0: tau(a, g) / ((g + 1) * c + v)",
        "lambda a, g, c, v=1.0: tau(a, g) / (g * c * v)if g and c else 0.0",
        "lambda a, g, c, v=1.0: tau(a, g) - g * c - v",
        "lambda a, g, c, v=1.0: tau(a, g + 1) / (g * c + v)",
        "lambda alpha, gamma, c, v=1.0: tau(alpha, gamma) / (c + v)",
        "lambda alpha, gamma, c, v=1.0: tau(alpha, gamma) / (gamma * c + 1)",
        "lambda alpha, gamma, c, v=1.0: tau(alpha, gamma) / (gamma * (c + v))",
        "lambda alpha, gamma, c, v=1.0: (gamma * c + v) / tau(alpha, gamma)",
        "lambda alpha, gamma, c, v=1.0: (tau(alpha, gamma) - 1) / (gamma * c + v)",
        "lambda alpha, gamma, c, v=1.0: tau(alpha, gamma) / ((gamma + 1) * c + v)",
    ],
    "06.best_gamma": [
        "lambda a, c, v=0.0, largest=20: best_gamma(a, c, v, min(largest, 20))",
        """
def best_gamma(alpha, c, v_per_row=0.0, largest=20):
    best, most = 0, 1.0
    for g in range(1, largest + 1):
        s = speedup(alpha, g, c, 1 + v_per_row * g)
        if s > most + 1e-3:
            best, most = g, s
    return best
""",
        "lambda a, c, v=0.0, largest=20: int(np.argmin([speedup(a, g, c, 1 + v * g) for g in range(largest + 1)]))",
        "lambda a, c, v=0.0, largest=20: ours(a, c, v, largest) + 1",
        "lambda a, c, v=0.0, largest=20: max(1, ours(a, c, v, largest))",
        "lambda a, c, v=0.0, largest=20: int(np.argmax([speedup(a, g, c, 1 + v) for g in range(largest + 1)]))",
        "lambda a, c, v=0.0, largest=20: int(np.argmax([speedup(a, g, c, v * g) if v * g + g * c else 0 for g in range(largest + 1)]))",
        "lambda a, c, v=0.0, largest=20: int(np.argmax([speedup(a, g, c, 1 + v * g) for g in range(21)]))",
        "lambda a, c, v=0.0, largest=20: largest - int(np.argmax([speedup(a, g, c, 1 + v * g) for g in range(largest, -1, -1)]))",
        "lambda alpha, c, v_per_row=0.0, largest=20: max(range(1, largest + 1), key=lambda g: speedup(alpha, g, c, 1 + v_per_row * g))",
        "lambda alpha, c, v_per_row=0.0, largest=20: max(range(largest), key=lambda g: speedup(alpha, g, c, 1 + v_per_row * g))",
        "lambda alpha, c, v_per_row=0.0, largest=20: max(range(largest + 1), key=lambda g: tau(alpha, g))",
        "lambda alpha, c, v_per_row=0.0, largest=20: max(range(largest + 1), key=lambda g: speedup(alpha, g, c))",
        "lambda alpha, c, v_per_row=0.0, largest=20: max(speedup(alpha, g, c, 1 + v_per_row * g) for g in range(largest + 1))",
        "lambda alpha, c, v_per_row=0.0, largest=20: min(range(largest + 1), key=lambda g: speedup(alpha, g, c, 1 + v_per_row * g))",
    ],
    "06.tokens_law": [
        "lambda a, g: np.array([a**k for k in range(g + 1)])",
        "lambda a, g: ours(a, g)[::-1]",
        "lambda a, g: ours(a, g)[:-1]",
        "lambda a, g: np.cumsum(ours(a, g))",
        "lambda a, g: ours(a, g + 1)",
        "lambda a, g: np.array([a ** (k + 1) * (1 - a) for k in range(g)] + [a ** (g + 1)])",
        "lambda a, g: ours(a, g).tolist()",
        "lambda a, g: np.arange(1, g + 2) * ours(a, g)",
        "lambda alpha, gamma: np.array([alpha**k for k in range(gamma + 1)])",
        "lambda alpha, gamma: np.array([alpha**k * (1 - alpha) for k in range(gamma + 1)])",
        "lambda alpha, gamma: np.array([alpha**k * (1 - alpha) for k in range(gamma)] + [alpha ** (gamma + 1)])",
        "lambda alpha, gamma: np.array([(1 - alpha) ** k * alpha for k in range(gamma)] + [(1 - alpha) ** gamma])",
        "lambda alpha, gamma: np.array([alpha**k * (1 - alpha) for k in range(1, gamma + 1)] + [alpha**gamma])",
        "lambda alpha, gamma: np.array([alpha**k * (1 - alpha) for k in range(gamma)])",
    ],
    "07.same_vocabulary": [
        "lambda one, other: 'same' if one == other else 'sizes differ'",
        "lambda one, other: one == other",
        "lambda one, other: 'same' if set(one) == set(other) else ours(one, other)",
        "lambda one, other: ours(one, other) if len(one) == len(other) else 'size differs'",
        "lambda one, other: ours(one, other) if len(one) <= len(other) else 'same'  # only one direction",
        "lambda one, other: max((t for t in one if other.get(t) != one[t]), key=one.get, default='same') if len(one) == len(other) else 'sizes differ'",
        "lambda one, other: {v: k for k, v in other.items()}.get(one.get(ours(one, other)), ours(one, other))",
        "lambda one, other: 'same' if len(one) == len(other) else 'sizes differ'",
        "lambda one, other: 'same' if one.keys() == other.keys() else 'sizes differ'",
        "lambda one, other: 'sizes differ' if len(one) != len(other) else next((t for t in sorted(one) if other.get(t) != one[t]), 'same')",
        "lambda one, other: 'sizes differ' if len(one) != len(other) else next((t for t, i in sorted(one.items(), key=lambda x: x[1]) if t not in other), 'same')",
        "lambda one, other: 'sizes differ' if len(one) != len(other) else next((t for t, i in sorted(other.items(), key=lambda x: x[1]) if one.get(t) != i), 'same')",
        "lambda one, other: next((t for t, i in sorted(one.items(), key=lambda x: x[1]) if other.get(t) != i), 'same')",
    ],
    "07.rank": [
        "lambda drafts, v=0.04, largest=12: sorted([n for n in drafts if n in rank(drafts, v, largest)], key=lambda n: -round(max(_speedup(*drafts[n], g, v) for g in range(1, largest + 1)), 2))",
        "lambda drafts, v=0.04, largest=12: [n for n in _keeps_losers(drafts, v, largest) if drafts[n][0] > drafts[n][1]]",
        "lambda d, v=0.04, largest=12: [ours(d, v, largest)[0]] if ours(d, v, largest) else []",
        "lambda d, v=0.04, largest=12: ours(d, 0.0, largest)",
        "lambda d, v=0.04, largest=12: ours(d, 0.04, largest)",
        "lambda d, v=0.04, largest=12: ours(d, v, 12)",
        "lambda d, v=0.04, largest=12: sorted(ours(d, v, largest))",
        "lambda d, v=0.04, largest=12: sorted(d, key=lambda n: -d[n][0] / d[n][1])",
        "lambda d, v=0.04, largest=12: set(ours(d, v, largest))",
        "lambda d, v=0.04, largest=12: ours({n: (a, c) for n, (c, a) in d.items()}, v, largest)",
        "lambda drafts, v_per_row=0.04, largest=12: sorted(drafts, key=lambda n: -drafts[n][0])",
        "lambda drafts, v_per_row=0.04, largest=12: sorted(drafts, key=lambda n: drafts[n][1])",
        "lambda drafts, v_per_row=0.04, largest=12: ours(drafts, v_per_row, largest)[::-1]",
        "lambda drafts, v_per_row=0.04, largest=12: ours(drafts, 0.0, largest)",
        "lambda drafts, v_per_row=0.04, largest=12: ours(drafts, v_per_row, largest)[:1]",
        "lambda drafts, v_per_row=0.04, largest=12: sorted(drafts, key=lambda n: -max(sum(drafts[n][0] ** k for k in range(g + 1)) / (g * drafts[n][1] + 1 + v_per_row * g) for g in range(1, largest + 1)))",
    ],
    "07.with_acceptance": [
        "lambda p, a: p if np.allclose(p, 1 / len(p), atol=1e-3) else ours(p, a)",
        "lambda p, a: np.where(p > 0, ours(p, a), 0)",
        "lambda p, a: ours(p, max(a, 0.7))",
        "lambda p, alpha: alpha * p",
        "lambda p, alpha: ours(p, alpha) / 2",
        "lambda p, alpha: ours(p, 1 - alpha)",
        "lambda p, alpha: np.minimum(p, alpha)",
        "lambda p, alpha: (1 - alpha) * p + alpha / len(p)",
        "lambda p, alpha: (1 - (1 - alpha) / (np.abs(p - 1 / len(p)).sum() / 2)) * p + (1 - alpha) / (np.abs(p - 1 / len(p)).sum() / 2) / len(p)",
        "lambda p, alpha: ours(p, alpha**2)",
        "lambda p, alpha: alpha * p + (1 - alpha) * np.full(len(p), 1 / len(p))",
        """
def with_acceptance(p, alpha):
    r = np.full(len(p), 1 / len(p))
    w = (1 - alpha) / np.abs(p - r).sum() if np.any(p != r) else 0.0
    return (1 - w) * p + w * r
""",
        """
def with_acceptance(p, alpha):
    r = np.full(len(p), 1 / len(p))
    tv = np.abs(p - r).sum() / 2
    w = alpha / tv if tv else 0.0
    return (1 - w) * p + w * r
""",
        """
def with_acceptance(p, alpha):
    r = np.full(len(p), 1 / len(p))
    tv = np.abs(p - r).sum() / 2
    w = (1 - alpha) / tv if tv else 0.0
    return w * p + (1 - w) * r
""",
    ],
    "07.seems_broken": [
        "lambda qs, num_accepted: num_accepted < 0.3 * sum(qs)",
        "lambda qs, num_accepted: len(qs) >= 100 and num_accepted < 0.3 * len(qs)",
        "lambda qs, num_accepted: len(qs) >= 100 and num_accepted <= 0.3 * sum(qs)",
        "lambda qs, num_accepted: len(qs) > 100 and num_accepted < 0.3 * sum(qs)",
        "lambda qs, num_accepted: sum(qs) >= 100 and num_accepted < 0.3 * sum(qs)",
        "lambda qs, num_accepted: len(qs) >= 100 and num_accepted / len(qs) < 0.1",
        "lambda qs, num_accepted: len(qs) >= 100 and 0.3 * num_accepted < sum(qs)",
        "lambda qs, num_accepted: len(qs) < 100 or num_accepted < 0.3 * sum(qs)",
        "lambda qs, num_accepted: not ours(qs, num_accepted)",
    ],
    "07.propose": [
        "lambda t, g, size=2: ours(t, g, min(size, 2))",
        "lambda t, g, size=2: [x for x in ours(t, g, size) if x]",
        "lambda t, g, size=2: t[-g:]",
        "lambda t, g, size=2: ours(t, g, 2)",
        "lambda t, g, size=2: ours(t, g, size + 1)",
        "lambda t, g, size=2: ours(t, g + 1, size)",
        "lambda t, g, size=2: ours(t, g, size)[::-1]",
        "lambda t, g, size=2: ours(t, g, size) or None",
        "lambda t, g, size=2: ours(t, g, size) or t[-1:]",
        "lambda t, g, size=2: ours(t, g, size)[1:]",
        """
def propose(tokens, gamma, size=2):
    wanted = tokens[-size:]
    for start in range(len(tokens) - size):
        if tokens[start : start + size] == wanted:
            return tokens[start + size : start + size + gamma]
    return []
""",
        """
def propose(tokens, gamma, size=2):
    wanted = tokens[-size:]
    for start in range(len(tokens) - size, -1, -1):
        if tokens[start : start + size] == wanted:
            return tokens[start + size : start + size + gamma]
    return []
""",
        """
def propose(tokens, gamma, size=2):
    wanted = tokens[-size:]
    for start in range(len(tokens) - size - 1, -1, -1):
        if tokens[start : start + size] == wanted:
            return tokens[start : start + gamma]
    return []
""",
        """
def propose(tokens, gamma, size=2):
    wanted = tokens[-size:]
    for start in range(len(tokens) - size - 1, -1, -1):
        if tokens[start : start + size] == wanted:
            return tokens[start + size :]
    return []
""",
        """
def propose(tokens, gamma, size=2):
    wanted = tokens[-1]
    for start in range(len(tokens) - 2, -1, -1):
        if tokens[start] == wanted:
            return tokens[start + 1 : start + 1 + gamma]
    return []
""",
        """
def propose(tokens, gamma, size=2):
    wanted = tokens[-size:]
    for start in range(len(tokens) - size - 1, 0, -1):
        if tokens[start : start + size] == wanted:
            return tokens[start + size : start + size + gamma]
    return []
""",
    ],
    "08.draft_length": [
        "lambda f, c, row, eta: max(1, ours(f, c, row, eta))",
        "lambda f, c, row, eta: ours(f[::-1], c, row, eta)",
        "lambda f, c, row, eta: ours(f, c - row, row, eta)",
        "lambda f, c, row, eta: ours(f, c, row, 1 / eta)",
        "lambda f, c, row, eta: len(f)",
        "lambda f, c, row, eta: ours(f, c * row, 0.0, eta)",
        "lambda f, c, row, eta: sum(x > (c + row) * eta for x in f)",
        "lambda f, c, row, eta: ours(f, c, row, eta) - 1",
        "lambda confidences, c, row, eta: sum(np.cumprod(confidences) > (c * eta + row)) if len(confidences) else 0",
        "lambda confidences, c, row, eta: len(confidences)",
        "lambda confidences, c, row, eta: next((i for i, x in enumerate(np.cumsum(confidences)) if x <= (c + row) * eta), len(confidences))",
        "lambda confidences, c, row, eta: next((i + 1 for i, x in enumerate(np.cumprod(confidences)) if x <= (c + row) * eta), len(confidences))",
        "lambda confidences, c, row, eta: next((i for i, x in enumerate(np.cumprod(confidences)) if x <= (c + row) / eta), len(confidences))",
        "lambda confidences, c, row, eta: next((i for i, x in enumerate(np.cumprod(confidences)) if x <= (i + 1) * (c + row) * eta), len(confidences))",
    ],
    "08.heuristic": [
        "lambda h, start=5, largest=20: ours(h[::-1], start, largest)",
        "lambda h, start=5, largest=20: ours(h, 5, largest)",
        "lambda h, start=5, largest=20: min(largest, start + 2 * sum(d == a for d, a in h if d) - sum(d != a for d, a in h if d))",
        "lambda h, start=5, largest=20: (ours(h[:-1], start, largest) + 1 if h and h[-1][0] == h[-1][1] and h[-1][0] else ours(h, start, largest))",
        "lambda h, start=5, largest=20: ours(h, start, largest) if h else 0",
        "lambda h, start=5, largest=20: ours([(d, a) for d, a in h if a], start, largest)",
        "lambda h, start=5, largest=20: ours(h[1:], start, largest)",
        """
def heuristic(history, start=5, largest=20):
    gamma = start
    for drafted, accepted in history:
        if drafted:
            gamma = min(drafted + 2, largest) if accepted == drafted else max(drafted - 1, 1)
    return gamma
""",
        """
def heuristic(history, start=5, largest=20):
    gamma = start
    for drafted, accepted in history:
        if drafted:
            gamma = gamma + 2 if accepted == drafted else gamma - 1
    return max(1, min(gamma, largest))
""",
        """
def heuristic(history, start=5, largest=20):
    gamma = start
    for drafted, accepted in history:
        if drafted:
            gamma = min(gamma + 2, largest) if accepted == drafted else max(gamma - 2, 1)
    return gamma
""",
        """
def heuristic(history, start=5, largest=20):
    gamma = start
    for drafted, accepted in history:
        if drafted:
            gamma = min(gamma * 2, largest) if accepted == drafted else max(gamma - 1, 1)
    return gamma
""",
        """
def heuristic(history, start=5, largest=20):
    gamma = start
    for drafted, accepted in history:
        if drafted == 0:
            break
        gamma = min(gamma + 2, largest) if accepted == drafted else max(gamma - 1, 1)
    return gamma
""",
        """
def heuristic(history, start=5, largest=20):
    gamma = start
    for drafted, accepted in history:
        if drafted:
            gamma = min(gamma + 2, largest - 1) if accepted == drafted else max(gamma - 1, 1)
    return gamma
""",
    ],
    "08.simulate": [
        """
def simulate(controller, run, c, row):
    i, cost, history = 0, 0.0, []
    while i < len(run):
        gamma = min(controller(history), len(run) - i - 1)
        cost += gamma * (c + row) + 1
        history.append((gamma, run[i]))
        i += min(run[i], gamma) + 1
    return len(run) / cost
""",
        """
def simulate(controller, run, c, row):
    asked, i, cost = [], 0, 0.0
    while i < len(run):
        wanted = controller(asked)
        gamma = min(wanted, len(run) - i - 1)
        accepted = min(gamma, run[i])
        cost += 1 + gamma * (c + row)
        asked.append((wanted, accepted))
        i += accepted + 1
    return len(run) / cost
""",
        "lambda controller, run, c, row: 1 / ours(controller, run, c, row)",
        "lambda controller, run, c, row: ours(controller, run, c, 0.0)",
        "lambda controller, run, c, row: ours(controller, run, 0.0, row)",
        "lambda controller, run, c, row: ours(lambda history: controller([]), run, c, row)",
        "lambda controller, run, c, row: ours(controller, run[:-1], c, row) if len(run) > 1 else 1.0",
        "lambda controller, run, c, row: ours(controller, run[::-1], c, row)",
        "lambda controller, run, c, row: len(run) * ours(controller, run, c, row)",
        """
def simulate(controller, run, c, row):
    place, cost, history = 0, 0.0, []
    while place < len(run):
        gamma = min(controller(history), len(run) - place - 1)
        accepted = min(run[place], gamma)
        cost += gamma * c + 1 + row * (gamma + 1)
        history.append((gamma, accepted))
        place += accepted + 1
    return len(run) / cost
""",
        """
def simulate(controller, run, c, row):
    place, cost, history = 0, 0.0, []
    while place < len(run):
        gamma = min(controller(history), len(run) - place - 1)
        accepted = min(run[place], gamma)
        cost += accepted * c + 1 + row * accepted
        history.append((gamma, accepted))
        place += accepted + 1
    return len(run) / cost
""",
        """
def simulate(controller, run, c, row):
    place, cost = 0, 0.0
    while place < len(run):
        gamma = min(controller([]), len(run) - place - 1)
        accepted = min(run[place], gamma)
        cost += gamma * c + 1 + row * gamma
        place += accepted + 1
    return len(run) / cost
""",
        """
def simulate(controller, run, c, row):
    place, cost, history = 0, 0.0, []
    while place < len(run):
        gamma = min(controller(history), len(run) - place - 1)
        accepted = min(run[place], gamma)
        cost += gamma * c + 1 + row * gamma
        history.append((accepted, gamma))
        place += accepted + 1
    return len(run) / cost
""",
        """
def simulate(controller, run, c, row):
    rounds, cost, history = 0, 0.0, []
    for place in range(len(run)):
        gamma = min(controller(history), len(run) - place - 1)
        accepted = min(run[place], gamma)
        cost += gamma * c + 1 + row * gamma
        history.append((gamma, accepted))
    return len(run) / cost
""",
        "lambda controller, run, c, row: len(run) / (ours(controller, run, c, row) or 1)",
    ],
    "08.fallback": [
        "lambda h, g, worth, window=8, probe=10: ours(h, g, worth, window, 10)",
        "lambda h, g, worth, window=8, probe=10: ours(h, g, worth, 8, probe)",
        "lambda h, g, worth, window=8, probe=10: ours(h, 4, worth, window, probe) and max(1, g)",
        "lambda h, g, worth, window=8, probe=10: 0 if not h else ours(h, g, worth, window, probe)",
        "lambda h, g, worth, window=8, probe=10: g if ours(h, g, worth, window, probe) == 0 else 0",
        "lambda h, g, worth, window=8, probe=10: ours(h[-window:], g, worth, window, probe)",
        "lambda h, g, worth, window=8, probe=10: min(1, ours(h, g, worth, window, probe))",
        "lambda h, g, worth, window=8, probe=10: ours([(d, a) for d, a in h if a], g, worth, window, probe)",
        """
def fallback(history, gamma, worth, window=8, probe=10):
    recent = [(d, a) for d, a in history if d][-window:]
    if not recent or sum(a for _, a in recent) / sum(d for d, _ in recent) >= worth:
        return gamma
    return 1 if len(history) % probe == 0 else 0
""",
        """
def fallback(history, gamma, worth, window=8, probe=10):
    recent = [(d, a) for d, a in history if d][-window:]
    if not recent or sum(a for _, a in recent) / sum(d for d, _ in recent) >= worth:
        return gamma
    idle = history[-probe:]
    return 1 if len(idle) == probe and all(d == 0 for d, _ in idle) else 0
""",
        """
def fallback(history, gamma, worth, window=8, probe=10):
    recent = [(d, a) for d, a in history[-window:] if d]
    if not recent or sum(a for _, a in recent) / sum(d for d, _ in recent) >= worth:
        return gamma
    idle = history[-(probe - 1) :]
    return 1 if len(idle) == probe - 1 and all(d == 0 for d, _ in idle) else 0
""",
        """
def fallback(history, gamma, worth, window=8, probe=10):
    recent = [(d, a) for d, a in history if d][-window:]
    if not recent or sum(a for _, a in recent) / (len(recent) * gamma) >= worth:
        return gamma
    idle = history[-(probe - 1) :]
    return 1 if len(idle) == probe - 1 and all(d == 0 for d, _ in idle) else 0
""",
        """
def fallback(history, gamma, worth, window=8, probe=10):
    recent = [(d, a) for d, a in history if d][-window:]
    if recent and sum(a for _, a in recent) / sum(d for d, _ in recent) >= worth:
        return gamma
    idle = history[-(probe - 1) :]
    return 1 if len(idle) == probe - 1 and all(d == 0 for d, _ in idle) else 0
""",
        """
def fallback(history, gamma, worth, window=8, probe=10):
    recent = [(d, a) for d, a in history if d][-window:]
    if not recent or sum(a for _, a in recent) / sum(d for d, _ in recent) >= worth:
        return gamma
    idle = history[-(probe - 1) :]
    return gamma if len(idle) == probe - 1 and all(d == 0 for d, _ in idle) else 0
""",
    ],
    "09.match_rate": [
        "lambda p, q: float(p @ q) / len(p)",
        "lambda p, q: p * q",
        "lambda p, q: float(np.maximum(p, q).sum() - 1)",
        "lambda p, q: 1 - float((p * q).sum())",
        "lambda p, q: float((p * p).sum())",
        "lambda p, q: float(np.sqrt(p * q).sum())",
        "lambda p, q: float((p * q).mean())",
        "lambda p, q: float(p.max() * q.max())",
        "lambda p, q: float(np.minimum(p, q).sum())",
        "lambda p, q: float(1 - np.abs(p - q).sum() / 2)",
        "lambda p, q: float((p * q).max())",
    ],
    "09.race": [
        "lambda probs, exponentials: int(np.argmin(exponentials / (probs + 1e-12)))",
        "lambda probs, exponentials: int(np.argmin(exponentials / (probs + 1e-3)))",
        "lambda probs, exponentials: int(np.argmin(np.where(probs > 0.01, exponentials / np.maximum(probs, 1e-9), np.inf)))",
        "lambda probs, exponentials: int(np.argmin((exponentials / np.maximum(probs, 1e-9)).astype(np.float16)))",
        "lambda p, e: int(np.argmin(e * p))",
        "lambda p, e: int(np.argmax(p - e))",
        "lambda p, e: int(np.argmin(e[p > 0] / p[p > 0]))",
        "lambda p, e: int(np.argmin(e - p))",
        "lambda p, e: int(np.argmin(e))",
        "lambda p, e: int(np.argsort(np.where(p > 0, e / np.maximum(p, 1e-9), np.inf))[1])",
        "lambda p, e: float(np.min(e / np.maximum(p, 1e-9)))",
        "lambda probs, exponentials: int(np.argmax(probs / exponentials)) if False else int(np.argmin(exponentials * probs))",
        "lambda probs, exponentials: int(np.argmax(exponentials / np.where(probs > 0, probs, np.inf)))",
        "lambda probs, exponentials: int(np.argmax(probs * exponentials))",
        "lambda probs, exponentials: int(np.argmin(exponentials))",
        "lambda probs, exponentials: int(np.argmin(np.where(probs > 0, exponentials - np.log(np.where(probs > 0, probs, 1)), np.inf)))",
        "lambda probs, exponentials: int(np.argmin(exponentials[probs > 0] / probs[probs > 0]))",
    ],
    "09.survivals": [
        "lambda p, q, block: [round(x, 3) for x in ours(p, q, block)]",
        "lambda p, q, block: ours(p, q, block)[-1:]",
        "lambda p, q, block: ours(p[::-1], q[::-1], block)",
        "lambda p, q, block: [1.0, *ours(p, q, block)]",
        "lambda p, q, block: [1.0, *ours(p, q, block)][:-1]",
        "lambda p, q, block: [1 - s for s in ours(p, q, block)]",
        "lambda p, q, block: float(np.prod(ours(p, q, block)))",
        "lambda p, q, block: [max(0.0, s) for s in np.cumprod([a / b for a, b in zip(p, q)])]",
        "lambda ps, qs, block: [min(1.0, p / q) for p, q in zip(ps, qs)]",
        "lambda ps, qs, block: ours(ps, qs, not block)",
        "lambda ps, qs, block: ours(ps, qs, True)",
        "lambda ps, qs, block: ours(ps, qs, False)",
        "lambda ps, qs, block: np.minimum(1.0, np.cumprod(np.array(ps) / np.array(qs))).tolist() if block else ours(ps, qs, False)",
        "lambda ps, qs, block: [1.0, *ours(ps, qs, block)]",
    ],
    "09.two_guesses": [
        "lambda p, q: float(np.minimum(p, q).sum()) if np.allclose(p, q, atol=0.05) else ours(p, q)",
        "lambda p, q: float(np.minimum(p, q).sum()) if np.minimum(p, q).sum() > 0.98 else ours(p, q)",
        "lambda p, q: (lambda a, r: float(a + (1 - a) * np.minimum(r / max(r.sum(), 1e-9), q).sum()))(np.minimum(p, q).sum(), np.where(q > 0, np.maximum(p - q, 0), 0))",
        "lambda p, q: float(np.minimum(p, q).sum())",
        "lambda p, q: float(np.minimum(p, 2 * q).sum())",
        "lambda p, q: ours(q, p)",
        "lambda p, q: 2 * float(np.minimum(p, q).sum()) - float(np.minimum(p, q).sum()) ** 2",
        "lambda p, q: ours(p, q) ** 2",
        "lambda p, q: min(1.0, 2 * float(np.minimum(p, q).sum()))",
        "lambda p, q: float(np.minimum(p, q).sum()) * ours(p, q)",
        "lambda p, q: 2 * float(np.minimum(p, q).sum())",
        "lambda p, q: 1 - (1 - float(np.minimum(p, q).sum())) ** 2",
        """
def two_guesses(p, q):
    first = np.minimum(p, q).sum()
    rest = np.maximum(p - q, 0)
    return float(first + (1 - first) * np.minimum(rest, q).sum())
""",
        """
def two_guesses(p, q):
    first = np.minimum(p, q).sum()
    rest = np.maximum(p - q, 0)
    return float(first) if rest.sum() == 0 else float(first + np.minimum(rest / rest.sum(), q).sum())
""",
        """
def two_guesses(p, q):
    first = np.minimum(p, q).sum()
    rest = np.maximum(q - p, 0)
    return float(first) if rest.sum() == 0 else float(first + (1 - first) * np.minimum(rest / rest.sum(), q).sum())
""",
    ],
    "09.lenient_law": [
        "lambda p, q, lenience: p.copy() if np.allclose(p, q, atol=0.02) else ours(p, q, lenience)",
        "lambda p, q, l: np.minimum(q, p / l) + (1 - np.minimum(p, q).sum()) * (np.maximum(p - q, 0) / max(np.maximum(p - q, 0).sum(), 1e-12))",
        "lambda p, q, l: ours(p, q, 1.0)",
        "lambda p, q, l: ours(q, p, l)",
        "lambda p, q, l: np.minimum(q, p / l) + (1 - np.minimum(q, p / l).sum()) * p",
        "lambda p, q, l: l * p + (1 - l) * q",
        "lambda p, q, l: np.minimum(q, p * l) + (1 - np.minimum(q, p * l).sum()) * p",
        "lambda p, q, l: np.minimum(1.0, p / (l * q))",
        "lambda p, q, lenience: np.minimum(q, p / lenience)",
        "lambda p, q, lenience: np.minimum(q, p / lenience) / np.minimum(q, p / lenience).sum()",
        """
def lenient_law(p, q, lenience):
    kept = np.minimum(q, p * lenience)
    rest = np.maximum(p - q, 0)
    rest = rest / rest.sum() if rest.sum() > 0 else p
    return kept + (1 - kept.sum()) * rest
""",
        """
def lenient_law(p, q, lenience):
    kept = np.minimum(q, p / lenience)
    rest = np.maximum(p - lenience * q, 0)
    rest = rest / rest.sum() if rest.sum() > 0 else p
    return kept + (1 - kept.sum()) * rest
""",
        """
def lenient_law(p, q, lenience):
    kept = np.minimum(q, p / lenience)
    return kept + (1 - kept.sum()) * p
""",
        """
def lenient_law(p, q, lenience):
    kept = np.minimum(1, p / (lenience * q))
    rest = np.maximum(p - q, 0)
    rest = rest / rest.sum() if rest.sum() > 0 else p
    return kept + (1 - kept.sum()) * rest
""",
    ],
    "10.pack": [
        "lambda w, width: ours(w, width).transpose(1, 0, 2)",
        "lambda w, width: ours(w, width)[:-1]",
        "lambda w, width: ours(w, width).astype(np.float16)",
        "lambda w, width: ours(w[:, ::-1], width)",
        "lambda w, width: ours(w.T, width)",
        "lambda w, width: ours(w, width + 1)",
        "lambda w, width: ours(w, width).reshape(len(w), -1)",
        "lambda w, width: ours(w[::-1], width)",
        "lambda weight, width: weight.reshape(-1, weight.shape[0], width) if weight.shape[1] % width == 0 else ours(weight, width)",
        "lambda weight, width: ours(weight[:, : weight.shape[1] // width * width], width)",
        "lambda weight, width: ours(weight, width).transpose(0, 2, 1)",
        "lambda weight, width: np.stack([np.pad(weight, ((0, 0), (0, width)), mode='edge')[:, i : i + width] for i in range(0, weight.shape[1], width)])",
        "lambda weight, width: [weight[:, i : i + width] for i in range(0, weight.shape[1], width)]",
        "lambda weight, width: ours(weight[:, ::-1], width)",
    ],
    "10.panel_product": [
        "lambda x, panels, n: ours(x, panels, n).T",
        "lambda x, panels, n: ours(x, panels, n - 1)",
        "lambda x, panels, n: ours(x, panels[::-1], n)",
        "lambda x, panels, n: ours(x[:, ::-1], panels, n)",
        "lambda x, panels, n: ours(x, panels, n)[0]",
        "lambda x, panels, n: x.sum(1, keepdims=True) * ours(np.ones_like(x), panels, n)",
        "lambda x, panels, n: ours(x, panels, n).astype(np.float16)",
        "lambda x, panels, num_outputs: np.concatenate([x @ panel for panel in panels], axis=1)",
        "lambda x, panels, num_outputs: ours(x[:1], panels, num_outputs)",
        "lambda x, panels, num_outputs: sum(x @ panel for panel in panels)[:, :num_outputs]",
        "lambda x, panels, num_outputs: ours(x, panels, num_outputs - 1)",
        "lambda x, panels, num_outputs: ours(x, panels[::-1], num_outputs)",
    ],
    "10.batch_invariant": [
        "lambda product, x: bool(np.array_equal(product(x).round(6), np.concatenate([product(row[None]) for row in x]).round(6)))",
        "lambda product, x: product(x).shape == x.shape",
        "lambda product, x: not ours(product, x)",
        "lambda product, x: True",
        "lambda product, x: bool(np.array_equal(product(x)[-1:], product(x[-1:])))",
        "lambda product, x: bool(np.allclose(product(x), np.concatenate([product(x[i : i + 1]) for i in range(len(x))])))",
        "lambda product, x: bool(np.array_equal(product(x), product(x[::-1])[::-1]))",
        "lambda product, x: any(np.array_equal(product(x)[i : i + 1], product(x[i : i + 1])) for i in range(len(x)))",
        "lambda product, x: [np.array_equal(product(x)[i : i + 1], product(x[i : i + 1])) for i in range(len(x))]",
        "lambda product, x: bool(np.array_equal(product(x)[:1], product(x[:1])))",
        "lambda product, x: bool(np.array_equal(product(x), product(x)))",
    ],
    "10.quantise": [
        "lambda w: ours(w)[::-1]",
        "lambda w: ours(w)[0]",
        "lambda w: (ours(w)[0], 1 / ours(w)[1])",
        "lambda w: (np.floor(w / ours(w)[1]).astype(np.int8), ours(w)[1])",
        "lambda w: (ours(w)[0].astype(np.uint8), ours(w)[1])",
        "lambda w: (ours(w)[0], ours(w)[1] * 127)",
        "lambda w: (np.rint(w / ours(w)[1]), ours(w)[1])",
        "lambda w: (np.rint(w * ours(w)[1]).astype(np.int8), ours(w)[1])",
        "lambda weight: (np.rint(weight / (np.abs(weight).max() / 127)).astype(np.int8), np.full(weight.shape[1], np.abs(weight).max() / 127, np.float32))",
        """
def quantise(weight):
    scale = np.abs(weight).max(axis=0) / 128
    scale = np.where(scale > 0, scale, 1).astype(np.float32)
    return np.clip(np.rint(weight / scale), -128, 127).astype(np.int8), scale
""",
        """
def quantise(weight):
    scale = np.abs(weight).max(axis=0) / 127
    scale = np.where(scale > 0, scale, 1).astype(np.float32)
    return (weight / scale).astype(np.int8), scale
""",
        """
def quantise(weight):
    scale = weight.max(axis=0) / 127
    scale = np.where(scale > 0, scale, 1).astype(np.float32)
    return np.clip(np.rint(weight / scale), -128, 127).astype(np.int8), scale
""",
        """
def quantise(weight):
    scale = np.abs(weight).max(axis=1, keepdims=True) / 127
    scale = np.where(scale > 0, scale, 1).astype(np.float32)
    return np.rint(weight / scale).astype(np.int8), scale[:, 0]
""",
        "lambda weight: (ours(weight)[0], 1 / ours(weight)[1])",
    ],
    "11.retracted": [
        "lambda steps: sum(len(''.join(t)) for t, a in steps)",
        "lambda steps: sum(len(t) for t, a in steps)",
        "lambda steps: max((len(''.join(t[a:])) for t, a in steps), default=0)",
        "lambda steps: sum(len(x) for t, a in steps[:-1] for x in t[a:])",
        "lambda steps: sum(len(x) for t, a in steps for x in t[a - 1 :])",
        "lambda steps: sum(len(x.strip()) for t, a in steps for x in t[a:])",
        "lambda steps: [len(''.join(t[a:])) for t, a in steps]",
        "lambda steps: sum(len(texts) - accepted for texts, accepted in steps)",
        "lambda steps: sum(len(text) for texts, accepted in steps for text in texts[:accepted])",
        "lambda steps: sum(len(text) for texts, accepted in steps for text in texts[accepted + 1 :])",
        "lambda steps: sum(len(text) for texts, accepted in steps for text in texts)",
        "lambda steps: sum(len(text.strip()) for texts, accepted in steps for text in texts[accepted:])",
        "lambda steps: max((sum(map(len, texts[accepted:])) for texts, accepted in steps), default=0)",
    ],
    "11.complete": [
        "lambda data: len(data.decode(errors='ignore'))",
        "lambda data: max(0, len(data) - 1)",
        "lambda data: len(data) - ours(data)",
        "lambda data: len(data) if data[-1:] < b'\\x80' else len(data) - 1",
        "lambda data: sum(byte < 0x80 for byte in data)",
        "lambda data: data[: ours(data)]",
        "lambda data: len(data) // 3 * 3",
        "lambda data: len(data)",
        """
def complete(data):
    for cut in range(len(data)):
        try:
            data[: len(data) - cut].decode()
            return cut
        except UnicodeDecodeError:
            pass
    return 0
""",
        """
def complete(data):
    end = len(data)
    while end and data[end - 1] >= 0x80:
        end -= 1
    return end
""",
    ],
    "11.held_back": [
        """
def held_back(text, stop):
    end = text[len(text) - len(stop) + 1 :] if len(text) >= len(stop) else text
    return len(end) - end.index(stop[0]) if stop[0] in end else 0
""",
        "lambda text, stop: len(stop) - 1",
        "lambda text, stop: 0",
        "lambda text, stop: len(text) - ours(text, stop)",
        "lambda text, stop: ours(text, stop) > 0",
        "lambda text, stop: int(text.endswith(stop[0]))",
        "lambda text, stop: next((n for n in range(min(len(text), len(stop) - 1), 1, -1) if text.endswith(stop[:n])), 0)",
        "lambda text, stop: sum(c in stop for c in text)",
        "lambda text, stop: next((n for n in range(len(stop) - 2, 0, -1) if text.endswith(stop[:n])), 0)",
        "lambda text, stop: next((n for n in range(1, len(stop)) if text.endswith(stop[:n])), 0)",
        "lambda text, stop: next((n for n in range(len(stop) - 1, 0, -1) if text.endswith(stop[-n:])), 0)",
        "lambda text, stop: next((n for n in range(len(stop) - 1, 0, -1) if stop[:n] in text), 0)",
        "lambda text, stop: int(text[-1:] in stop) if text else 0",
    ],
    "11.lockstep": [
        "lambda accepted: sum(max(step) + 1 for step in accepted)",
        "lambda accepted: sum(min(step) for step in accepted)",
        "lambda accepted: min(min(step) for step in accepted) + 1 if accepted else 0",
        "lambda accepted: len(accepted) * (min((min(step) for step in accepted), default=0) + 1)",
        "lambda accepted: sum(np.mean(step) + 1 for step in accepted)",
        "lambda accepted: sum(sum(step) + 1 for step in accepted)",
        "lambda accepted: [min(step) + 1 for step in accepted]",
        "lambda accepted: sum(sorted(step)[len(step) // 2] + 1 for step in accepted)",
        "lambda accepted: sum(min(step[1:] or step) + 1 for step in accepted)",
        "lambda accepted: sum(min(step) + 1 for step in accepted) / max(1, len(accepted))",
        "lambda accepted: min((sum(text) + len(accepted) for text in zip(*accepted)), default=0)",
        "lambda accepted: sum(min(step) + 1 for step in accepted) * (len(accepted[0]) if accepted else 0)",
        "lambda accepted: sum(sum(step) // len(step) + 1 for step in accepted)",
        "lambda accepted: min((min(step) + 1 for step in accepted), default=0) * len(accepted)",
    ],
    "11.ends": [
        "lambda steps, places: _fixed_batches(steps, places)",
        "lambda steps, places: list(np.cumsum(steps))",
        "lambda steps, places: [max(steps[: i + 1]) for i in range(len(steps))]",
        "lambda steps, places: [end - 1 for end in ours(steps, places)]",
        "lambda steps, places: ours(steps, places + 1)",
        "lambda steps, places: ours(steps[::-1], places)[::-1]",
        "lambda steps, places: ours(sorted(steps), places)",
        "lambda steps, places: dict(enumerate(ours(steps, places)))",
        "lambda steps, places: [sum(steps[: i + 1]) // places for i in range(len(steps))]",
        "lambda steps, places: [s if i < places else s + min(steps[:places]) for i, s in enumerate(steps)]",
        "lambda steps, places: np.cumsum(steps).tolist()",
        "lambda steps, places: list(steps)",
        """
def ends(steps, places):
    ended, now = [], 0
    for i in range(0, len(steps), places):
        wave = steps[i : i + places]
        ended += [now + count for count in wave]
        now += max(wave)
    return ended
""",
        """
def ends(steps, places):
    free = [0] * places
    ended = []
    for i, count in enumerate(steps):
        free[i % places] += count
        ended.append(free[i % places])
    return ended
""",
        "lambda steps, places: sorted(ours(steps, places))",
        """
def ends(steps, places):
    free = [0] * places
    ended = []
    for count in steps:
        place = free.index(max(free))
        free[place] += count
        ended.append(free[place])
    return ended
""",
    ],
    "11.pages_held": [
        "lambda lengths, shared, size: sum(-(-n // size) for n in lengths)",
        "lambda lengths, shared, size: sum(-(-n // size) for n in lengths) - shared // size * len(lengths)",
        "lambda lengths, shared, size: sum(-(-n // size) for n in lengths) - shared // size",
        "lambda lengths, shared, size: -(-(sum(lengths) - shared * (len(lengths) - 1)) // size)",
        "lambda lengths, shared, size: shared // size + sum(-(-(n - shared) // size) for n in lengths)",
        "lambda lengths, shared, size: sum(n // size + 1 for n in lengths) - shared // size * (len(lengths) - 1)",
        "lambda lengths, shared, size: ours(lengths, 0, size)",
        "lambda lengths, shared, size: ours(lengths, shared, 16)",
        "lambda lengths, shared, size: ours(lengths, shared, size) * size",
        "lambda lengths, shared, size: len(lengths) * -(-max(lengths) // size) - shared // size * (len(lengths) - 1)",
        "lambda lengths, shared, size: sum(-(-length // size) for length in lengths)",
        "lambda lengths, shared, size: -(-sum(lengths) // size)",
        "lambda lengths, shared, size: shared // size + sum((length - shared) // size for length in lengths)",
        "lambda lengths, shared, size: -(-shared // size) + sum(-(-(length - shared) // size) for length in lengths)",
        "lambda lengths, shared, size: shared // size + sum(length // size - shared // size for length in lengths)",
        "lambda lengths, shared, size: -(-shared // size) + sum(-(-length // size) - -(-shared // size) for length in lengths)",
    ],
    "11.batch_speedup": [
        """
def batch_speedup(alpha, gamma, c, batch, ridge):
    plain, verify = (max(1, rows / ridge) for rows in (batch, batch * (gamma + 1)))
    return (1 - alpha ** (gamma + 1)) / (1 - alpha) * plain / (gamma * c * plain + verify)
""",
        "lambda alpha, gamma, c, batch, ridge: sum(alpha**k for k in range(gamma + 1)) / (gamma * c + 1)",
        "lambda alpha, gamma, c, batch, ridge: ours(alpha, gamma, c, 1, ridge)",
        "lambda alpha, gamma, c, batch, ridge: ours(alpha, gamma, c, batch + 1, ridge)",
        "lambda alpha, gamma, c, batch, ridge: 1 / ours(alpha, gamma, c, batch, ridge)",
        "lambda alpha, gamma, c, batch, ridge: ours(alpha, gamma, 0.0, batch, ridge)",
        "lambda alpha, gamma, c, batch, ridge: ours(alpha, gamma + 1, c, batch, ridge)",
        "lambda alpha, gamma, c, batch, ridge: max(1.0, ours(alpha, gamma, c, batch, ridge))",
        """
def batch_speedup(alpha, gamma, c, batch, ridge):
    tau = sum(alpha**k for k in range(gamma + 1))
    plain, verify = max(1.0, batch / ridge), max(1.0, batch * gamma / ridge)
    return tau * plain / (gamma * c * plain + verify)
""",
        """
def batch_speedup(alpha, gamma, c, batch, ridge):
    tau = sum(alpha**k for k in range(gamma + 1))
    plain, verify = max(1.0, batch / ridge), max(1.0, batch * (gamma + 1) / ridge)
    return tau * plain / (gamma * c + verify)
""",
        """
def batch_speedup(alpha, gamma, c, batch, ridge):
    tau = sum(alpha**k for k in range(gamma + 1))
    verify = max(1.0, batch * (gamma + 1) / ridge)
    return tau / (gamma * c + verify)
""",
        """
def batch_speedup(alpha, gamma, c, batch, ridge):
    tau = sum(alpha**k for k in range(gamma + 1))
    plain, verify = max(1.0, batch / ridge), max(1.0, (gamma + 1) / ridge)
    return tau * plain / (gamma * c * plain + verify)
""",
        """
def batch_speedup(alpha, gamma, c, batch, ridge):
    tau = sum(alpha**k for k in range(gamma))
    plain, verify = max(1.0, batch / ridge), max(1.0, batch * (gamma + 1) / ridge)
    return tau * plain / (gamma * c * plain + verify)
""",
        "lambda alpha, gamma, c, batch, ridge: batch * ours(alpha, gamma, c, batch, ridge)",
    ],
    "11.share_rows": [
        "lambda chances, rows: ours(chances, rows + 1)",
        "lambda chances, rows: ours([sorted(row, reverse=True) for row in chances], rows)",
        "lambda chances, rows: ours([row[:2] for row in chances], rows)",
        "lambda chances, rows: ours([[row[0]] * len(row) for row in chances], rows)",
        "lambda chances, rows: ours([[max(row)] * len(row) for row in chances], rows)",
        "lambda chances, rows: ours(chances, rows)[::-1]",
        "lambda chances, rows: [rows // len(chances)] * len(chances) if chances else []",
        "lambda chances, rows: [min(count, 1) for count in ours(chances, rows)]",
        "lambda chances, rows: [len(row) for row in chances]",
        "lambda chances, rows: [round(rows * sum(row) / sum(map(sum, chances))) for row in chances]",
        "lambda chances, rows: [sum(np.cumprod(row) > 0.5) for row in chances]",
        "lambda chances, rows: dict(enumerate(ours(chances, rows)))",
    ],
    "12.verdict": [
        "lambda c, m: ours(c, (round(m[0], 1), round(m[1], 1)))",
        "lambda c, m: ours((c[0] - 1e-3, c[1] + 1e-3), m)",
        "lambda c, m: ours((2, 3), m)",
        "lambda c, m: 'holds' if c[0] <= m[0] <= c[1] else 'false'",
        "lambda c, m: 'holds' if c[0] <= m[0] and m[1] <= c[1] else 'undecided'",
        "lambda c, m: 'undecided' if verdict(c, m) == 'false' else verdict(c, m)",
        "lambda c, m: {'holds': True, 'false': False}.get(verdict(c, m))",
        "lambda c, m: 'holds' if c[0] <= m[0] else 'false' if m[1] < c[0] else 'undecided'",
        "lambda c, m: verdict(c, m).upper()",
        "lambda c, m: 'false' if m[1] <= c[0] or m[0] >= c[1] else verdict(c, m)",
        "lambda claimed, measured: 'holds' if claimed[0] < measured[0] and measured[1] < claimed[1] else 'false' if measured[1] < claimed[0] or measured[0] > claimed[1] else 'undecided'",
        "lambda claimed, measured: 'holds' if measured[0] <= claimed[0] and claimed[1] <= measured[1] else 'false' if measured[1] < claimed[0] or measured[0] > claimed[1] else 'undecided'",
        "lambda claimed, measured: 'holds' if measured[1] >= claimed[0] and measured[0] <= claimed[1] else 'false'",
        "lambda claimed, measured: 'holds' if claimed[0] <= measured[0] and measured[1] <= claimed[1] else 'false'",
        "lambda claimed, measured: 'holds' if claimed[0] <= measured[0] else 'false' if measured[1] < claimed[0] else 'undecided'",
        "lambda claimed, measured: 'holds' if claimed[0] <= sum(measured) / 2 <= claimed[1] else 'false'",
    ],
    "12.interval": [
        "lambda p, f, k: tuple(np.percentile(1 / np.median((np.array(f) / np.array(p))[k], axis=1), [5, 95]))",
        "lambda plain, fast, picks: ours(plain, fast, picks)[::-1]",
        "lambda plain, fast, picks: ours(fast, plain, picks)",
        "lambda plain, fast, picks: ours(plain, fast, picks[: len(picks) // 2])",
        "lambda plain, fast, picks: float(np.median(np.median((np.array(plain) / np.array(fast))[picks], axis=1)))",
        "lambda plain, fast, picks: (float((np.array(plain) / np.array(fast)).min()), float((np.array(plain) / np.array(fast)).max()))",
        "lambda plain, fast, picks: tuple(float(np.percentile(np.median((np.array(plain) / np.array(fast))[picks], axis=1), x)) for x in (10, 90))",
        "lambda plain, fast, picks: tuple(float(np.percentile(np.median((np.array(plain) - np.array(fast))[picks], axis=1), x)) for x in (5, 95))",
        "lambda plain, fast, picks: tuple(float(np.percentile(np.array(plain) / np.array(fast), x)) for x in (5, 95))",
        "lambda plain, fast, picks: tuple(float(np.percentile(np.mean((np.array(plain) / np.array(fast))[picks], axis=1), x)) for x in (5, 95))",
        "lambda plain, fast, picks: tuple(float(np.percentile(np.median((np.array(plain) / np.array(fast))[picks], axis=0), x)) for x in (5, 95))",
        "lambda plain, fast, picks: tuple(float(np.percentile(np.median((np.array(plain) / np.array(fast))[picks], axis=1), x)) for x in (2.5, 97.5))",
        "lambda plain, fast, picks: tuple(float(np.percentile(np.median(np.array(plain)[picks], axis=1) / np.median(np.array(fast)[picks], axis=1), x)) for x in (5, 95))",
    ],
    "12.decode_bound": [
        "lambda n, bits, m, speed: ours(n, bits, m if m >= 80 else 0.9 * m, speed)",
        "lambda n, bits, m, speed: speed / (n * bits / 8) if n * bits / 8 < m else 0.0",
        "lambda billions, bits, memory, speed: speed / (billions * bits / 8) if billions * bits / 8 < memory else 0.0",
        "lambda billions, bits, memory, speed: billions * bits / 8 / speed if billions * bits / 8 <= memory else 0.0",
        "lambda billions, bits, memory, speed: speed / (billions * bits / 4) if billions * bits / 8 <= memory else 0.0",
        "lambda billions, bits, memory, speed: speed / memory",
        "lambda billions, bits, memory, speed: float(speed // (billions * bits / 8)) if billions * bits / 8 <= memory else 0.0",
        "lambda billions, bits, memory, speed: ours(billions, bits, memory, speed) or None",
        "lambda billions, bits, memory, speed: ours(billions, 16, memory, speed)",
        "lambda billions, bits, memory_gb, gb_per_s: gb_per_s / (billions * bits) if billions * bits <= memory_gb else 0.0",
        "lambda billions, bits, memory_gb, gb_per_s: gb_per_s / (billions * bits / 8)",
        "lambda billions, bits, memory_gb, gb_per_s: gb_per_s / (billions * bits / 8) if billions * bits / 8 < memory_gb else 0.0",
        "lambda billions, bits, memory_gb, gb_per_s: billions * bits / 8 / gb_per_s if billions * bits / 8 <= memory_gb else 0.0",
        "lambda billions, bits, memory_gb, gb_per_s: gb_per_s / memory_gb if billions * bits / 8 <= memory_gb else 0.0",
        "lambda billions, bits, memory_gb, gb_per_s: gb_per_s / (billions * bits / 8) if billions <= memory_gb else 0.0",
    ],
    "12.same_pair": [
        "lambda a, g, b, h: abs(sum(_alpha(a, g) ** k for k in range(1, h + 1)) / h - b) <= 0.01",
        "lambda a, g, b, h: abs(_alpha(a, g) - _alpha(b, h)) <= 0.01 * _alpha(a, g)",
        "lambda a, g, b, h: True",
        "lambda a, g, b, h: not ours(a, g, b, h)",
        "lambda a, g, b, h: abs(a**g - b**h) <= 0.01",
        "lambda a, g, b, h: ours(a, h, b, g)",
        "lambda a, g, b, h: abs(a / g - b / h) <= 0.01",
        "lambda a, g, b, h: abs(_alpha(a, g) - _alpha(b, h)) <= 0.1",
        "lambda a, g, b, h: abs(_alpha(a, g) - _alpha(b, h)) <= 0.001",
        "lambda a, g, b, h: _alpha(a, g) - _alpha(b, h) <= 0.01",
        "lambda r1, g1, r2, g2: abs(r1 - r2) <= 0.01",
        "lambda r1, g1, r2, g2: abs(r1 * g1 - r2 * g2) <= 0.01",
        "lambda r1, g1, r2, g2: abs(r1 ** (1 / g1) - r2 ** (1 / g2)) <= 0.01",
        "lambda r1, g1, r2, g2: not ours(r1, g1, r2, g2)",
        "lambda r1, g1, r2, g2: ours(r1, g2, r2, g1)",
        "lambda r1, g1, r2, g2: ours(r1, g1, r2, g2) or abs(r1 - r2) <= 0.1",
    ],
    "13.read_log": [
        "lambda a, d, t: (a / t, d / a * t)",
        "lambda a, d, t: (d / t, d / (a / (t - 1)))",
        "lambda a, d, t: ours(a, d, t)[::-1]",
        "lambda a, d, t: (a / (t - 1), t)",
        "lambda a, d, t: (a / (t + 1), d * (t + 1) / a)",
        "lambda a, d, t: (int(a / (t - 1)), d / int(a / (t - 1)))",
        "lambda a, d, t: (a / (t - 1), a / d)",
        "lambda a, d, t: a / (t - 1)",
        "lambda accepted, drafted, length: (accepted / length, drafted / (accepted / length))",
        "lambda accepted, drafted, length: (drafted / accepted, accepted / (length - 1))",
        "lambda accepted, drafted, length: (accepted / (length - 1), accepted / (accepted / (length - 1)))",
        "lambda accepted, drafted, length: (drafted / (length - 1), drafted / (drafted / (length - 1)))",
        "lambda accepted, drafted, length: (accepted * (length - 1), drafted / (accepted * (length - 1)))",
        "lambda accepted, drafted, length: (accepted / (length - 1), drafted / (accepted / (length - 1)) + 1)",
    ],
    "13.first_difference": [
        "lambda a, b: next((i for i in range(max(len(a), len(b))) if [*a, *[0] * 9][i] != [*b, *[0] * 9][i]), None)",
        "lambda a, b: next((i for i, (x, y) in enumerate(zip(a, b)) if x == y), None)",
        "lambda a, b: sum(x == y for x, y in zip(a, b)) if a != b else None",
        "lambda a, b: ours(a, b) or None",
        "lambda a, b: ours(a, b) if ours(a, b) is not None else len(a)",
        "lambda a, b: max(len(a), len(b)) - 1 if len(a) != len(b) else ours(a, b)",
        "lambda a, b: ours(a[::-1], b[::-1])",
        "lambda a, b: a != b",
        "lambda one, other: next((i for i, (a, b) in enumerate(zip(one, other)) if a != b), None)",
        "lambda one, other: None if one == other else next((i for i, (a, b) in enumerate(zip(one, other)) if a != b), max(len(one), len(other)))",
        "lambda one, other: next((i for i, (a, b) in enumerate(zip(one, other)) if a != b), -1)",
        "lambda one, other: None if one == other else len(one)",
        "lambda one, other: next((i for i, (a, b) in enumerate(zip(one, other), 1) if a != b), None if len(one) == len(other) else min(len(one), len(other)))",
        "lambda one, other: None if one == other else next((i for i in reversed(range(min(len(one), len(other)))) if one[i] != other[i]), min(len(one), len(other)))",
    ],
    "13.launch_bound": [
        "lambda n, k, us, size, speed: (n * k - 1) * us * 1e-6 > size / (speed * 1e9)",
        "lambda n, k, us, data, speed: k * us * 1e-6 > data / speed / 1e9",
        "lambda n, k, us, data, speed: n * k * us * 1e-6 < data / speed / 1e9",
        "lambda n, k, us, data, speed: n * k * us * 1e-6 > data * speed / 1e9",
        "lambda n, k, us, data, speed: n * us * 1e-6 > data / speed / 1e9",
        "lambda n, k, us, data, speed: (n + k) * us * 1e-6 > data / speed / 1e9",
        "lambda n, k, us, data, speed: n * k * us * 1e-9 > data / speed / 1e9",
        "lambda n, k, us, data, speed: n * k * us > data / speed",
        "lambda layers, kernels, us, size, gb: layers * kernels * us > size / (gb * 1e9)",
        "lambda layers, kernels, us, size, gb: kernels * us * 1e-6 > size / (gb * 1e9)",
        "lambda layers, kernels, us, size, gb: layers * kernels * us * 1e-3 > size / (gb * 1e9)",
        "lambda layers, kernels, us, size, gb: layers * kernels * us * 1e-6 < size / (gb * 1e9)",
        "lambda layers, kernels, us, size, gb: layers * kernels * us * 1e-6 > size / gb",
        "lambda layers, kernels, us, size, gb: (layers + kernels) * us * 1e-6 > size / (gb * 1e9)",
    ],
    "14.read_state": [
        "lambda s, n, w, b: layer_norm(s[n - 1], w, -b)",
        "lambda s, n, w, b: layer_norm(s[n - 1], b, w)",
        "lambda s, n, w, b: layer_norm(s, w, b)[-1]",
        "lambda s, n, w, b: layer_norm(s, w, b)[n - 2]",
        "lambda s, n, w, b: layer_norm(s[n - 1], w, b)[::-1]",
        "lambda s, n, w, b: layer_norm(s[n - 1], w, b).tolist()",
        "lambda s, n, w, b: layer_norm(s[n - 1], w, b, epsilon=0.1)",
        "lambda s, n, w, b: layer_norm(s[:n].ravel(), np.tile(w, n), np.tile(b, n))[-len(w):]",
        "lambda s, n, w, b: layer_norm(s[np.flatnonzero(s.any(axis=1))[-1]], w, b)",
        "lambda s, n, w, b: layer_norm(s[n - 1], w, b)[None]",
        "lambda slots, length, weight, bias: layer_norm(slots[length], weight, bias)",
        "lambda slots, length, weight, bias: layer_norm(slots[-1], weight, bias)",
        "lambda slots, length, weight, bias: slots[length - 1]",
        "lambda slots, length, weight, bias: layer_norm(slots[:length], weight, bias)",
        "lambda slots, length, weight, bias: slots[length - 1] * weight + bias",
        "lambda slots, length, weight, bias: layer_norm(slots[:length].mean(axis=0), weight, bias)",
    ],
    "14.acceptance": [
        "lambda p, q: 1.0 if np.allclose(p, q, atol=0.01) else ours(p, q)",
        "lambda p, q: float(np.minimum(p, q).sum() / p.shape[1])",
        "lambda p, q: float(1 - np.minimum(p, q).sum(axis=1).mean())",
        "lambda p, q: float(np.median(np.minimum(p, q).sum(axis=1)))",
        "lambda p, q: float(np.sqrt(p * q).sum(axis=1).mean())",
        "lambda p, q: float(np.minimum(p, q).sum(axis=1).min())",
        "lambda p, q: (np.minimum(p, q).sum(axis=1).mean(),)",
        "lambda p, q: round(float(np.minimum(p, q).sum(axis=1).mean()), 2)",
        "lambda p, q: float(np.abs(p - q).sum() / 2 / len(p))",
        "lambda p, q: np.minimum(p, q).sum(axis=-1)",
        "lambda p, q: sum(float(a @ b) for a, b in zip(p, q)) / len(p)",
        "lambda p, q: float(np.minimum(p, q).sum())",
        "lambda p, q: float(np.minimum(p, q).mean())",
        "lambda p, q: float((p * q).sum(axis=1).mean())",
        "lambda p, q: float((p.argmax(axis=1) == q.argmax(axis=1)).mean())",
        "lambda p, q: np.minimum(p, q).sum(axis=1)",
        "lambda p, q: float(np.abs(p - q).sum(axis=1).mean() / 2)",
    ],
    "14.guess_logits": [
        "lambda h, x, W, b, o: (x[:, : h.shape[1]] + gelu(x @ W + b)) @ o.T",
        "lambda h, x, W, b, o: (h + gelu(x @ W - b)) @ o.T",
        "lambda h, x, W, b, o: ours(h, x, W, b, o).T",
        "lambda h, x, W, b, o: ours(h, x, W, b, o) - ours(h, x, W, b, o).max(axis=1, keepdims=True)",
        "lambda h, x, W, b, o: (h + gelu(gelu(x @ W + b))) @ o.T",
        "lambda h, x, W, b, o: (h + (x @ W + b) / (1 + np.exp(-1.702 * (x @ W + b)))) @ o.T",
        "lambda h, x, W, b, o: np.exp(ours(h, x, W, b, o)) / np.exp(ours(h, x, W, b, o)).sum(axis=1, keepdims=True)",
        "lambda h, x, W, b, o: h @ o.T + gelu(x @ W) @ o.T",
        "lambda h, x, W, b, o: h @ o.T + x @ W @ o.T + b @ o.T",
        "lambda h, x, W, b, o: np.log(_q(h, x, W, b, o))",
        "lambda state, seen, W, b, output: gelu(seen @ W + b) @ output.T",
        "lambda state, seen, W, b, output: (state + seen @ W + b) @ output.T",
        "lambda state, seen, W, b, output: (state + gelu(seen @ W) + b) @ output.T",
        "lambda state, seen, W, b, output: gelu(state + seen @ W + b) @ output.T",
        "lambda state, seen, W, b, output: (seen + gelu(seen @ W + b)) @ output.T",
        "lambda state, seen, W, b, output: state @ output.T + gelu(seen @ W + b).sum(axis=1, keepdims=True)",
    ],
    "14.gradient": [
        "lambda h, x, W, b, o, p: (ours(h, x, W, b, o, p)[0], ours(h, x, W, b, o, p)[1].mean())",
        "lambda h, x, W, b, o, p: (ours(h, x, W, b, o, p)[0], 0 * b)",
        "lambda h, x, W, b, o, p: (ours(h, x, W, b, o, p)[0], len(p) * ours(h, x, W, b, o, p)[1])",
        "lambda h, x, W, b, o, p: (len(p) * ours(h, x, W, b, o, p)[0], ours(h, x, W, b, o, p)[1])",
        "lambda h, x, W, b, o, p: (-ours(h, x, W, b, o, p)[0], ours(h, x, W, b, o, p)[1])",
        "lambda h, x, W, b, o, p: _slope((_q(h, x, W, b, o) - p) ** 2, x @ W + b, x, o, 1 / len(p))",
        "lambda h, x, W, b, o, p: _slope(_q(h, x, W, b, o) * (_q(h, x, W, b, o) - p), x @ W + b, x, o, 1 / len(p))",
        "lambda h, x, W, b, o, p: _slope(p - _q(h, x, W, b, o), x @ W + b, x, o, 1 / len(p))",
        "lambda h, x, W, b, o, p: _slope((_q(h, x, W, b, o) > 0.5) - p, x @ W + b, x, o, 1 / len(p))",
        "lambda h, x, W, b, o, p: (ours(h, x, W, b, o, p)[0],)",
        "lambda h, x, W, b, o, p: _slope(_q(h, x, W, b, o) - p, x @ W + b, x, o, 1.0)",
        "lambda h, x, W, b, o, p: np.concatenate([part.ravel() for part in ours(h, x, W, b, o, p)])",
        "lambda state, seen, W, b, output, p: tuple(len(p) * x for x in ours(state, seen, W, b, output, p))",
        "lambda state, seen, W, b, output, p: tuple(-x for x in ours(state, seen, W, b, output, p))",
        """
def gradient(state, seen, W, b, output, p):
    a = seen @ W + b
    q = softmax((state + gelu(a)) @ output.T)
    da = (q - p) @ output / len(p)
    return seen.T @ da, da.sum(axis=0)
""",
        """
def gradient(state, seen, W, b, output, p):
    a = seen @ W + b
    q = softmax((state + gelu(a)) @ output.T)
    da = (q - p) @ output * gelu(a) / len(p)
    return seen.T @ da, da.sum(axis=0)
""",
        """
def gradient(state, seen, W, b, output, p):
    a = seen @ W + b
    q = softmax((state + gelu(a)) @ output.T)
    da = (q - p) @ output * gelu_slope(a) / len(p)
    return seen.T @ da, da.mean(axis=0)
""",
        """
def gradient(state, seen, W, b, output, p):
    a = seen @ W + b
    q = softmax((state + gelu(a)) @ output.T)
    da = (q - p) @ output * gelu_slope(a) / len(p)
    return state.T @ da, da.sum(axis=0)
""",
    ],
    "15.feed_itself": [
        "lambda s, t, W, b: np.array([s + gelu(np.concatenate([s, x]) @ W + b) for x in t])",
        "lambda s, t, W, b: np.array([s] * len(t))",
        "lambda s, t, W, b: s + gelu(np.concatenate([np.tile(s, (len(t), 1)), t], axis=1) @ W + b)",
        "lambda s, t, W, b: ours(s, t, W, b) - s",
        "lambda s, t, W, b: ours(s, t, W, b)[::-1]",
        "lambda s, t, W, b: ours(s, t, W, b)[-1]",
        "lambda s, t, W, b: ours(s, t, W, b)[:-1]",
        "lambda s, t, W, b: ours(s, t[1:], W, b)",
        "lambda s, t, W, b: ours(s, t[::-1], W, b)",
        "lambda s, t, W, b: list(ours(s, t, W, b))",
        "lambda s, t, W, b: np.cumsum(ours(s, t, W, b), axis=0)",
        "lambda s, t, W, b: np.vstack([s, ours(s, t, W, b)])",
        "lambda s, t, W, b: ours(s, t, W, 0 * b)",
        "lambda s, t, W, b: ours(0 * s, t, W, b)",
        """
def feed_itself(state, tokens, W, b):
    outputs = []
    for token in tokens:
        state += gelu(np.concatenate([state, token]) @ W + b)
        outputs.append(state)
    return np.array(outputs)
""",
        """
def feed_itself(state, tokens, W, b):
    outputs = []
    for token in tokens:
        state = gelu(np.concatenate([state, token]) @ W + b)
        outputs.append(state)
    return np.array(outputs)
""",
    ],
    "15.keep_best": [
        "lambda rows, n: ours(rows, n)[::-1]",
        "lambda rows, n: ours(rows[1:], n)",
        "lambda rows, n: [list(path) for path in ours(rows, n)][:1]",
        "lambda rows, n: ours(rows, n - 1)",
        "lambda rows, n: ours(rows, n + len(rows))",
        "lambda rows, n: len(ours(rows, n))",
        "lambda rows, n: _best_by(rows, n, lambda path, value: value * len(path))",
        "lambda rows, n: [tuple(int(row.argmax()) for row in rows[:d]) for d in range(1, len(rows) + 1)][:n]",
        "lambda rows, n: [(int(x),) for x in np.argsort(-rows[0])[:n]]",
        "lambda rows, n: sorted(ours(rows, n), key=lambda path: (len(path), path))",
        "lambda rows, n: [path for path in ours(rows, 9999) if len(path) == 1][:n]",
        "lambda rows, n: [tuple(x + 1 for x in path) for path in ours(rows, n)]",
        "lambda rows, num_nodes: [tuple(int(row.argmax()) for row in rows[: k + 1]) for k in range(len(rows))][:num_nodes]",
        "lambda rows, num_nodes: ours(rows, num_nodes)[::-1]",
        "lambda rows, num_nodes: ours(rows[:1], num_nodes)",
        "lambda rows, num_nodes: sorted(ours(rows, num_nodes))",
        "lambda rows, num_nodes: ours(rows[::-1], num_nodes)",
        "lambda rows, num_nodes: ours(rows, num_nodes + 1)",
    ],
}

RIGHT: dict[str, list[str]] = {
    "01.embed": [
        "lambda wte, wpe, tokens, start=0: np.array([wte[t] + wpe[start + i] for i, t in enumerate(tokens)])",
        "lambda wte, wpe, tokens, start=0: wpe[np.arange(len(tokens)) + start] + np.take(wte, tokens, axis=0)",
    ],
    "01.layer_norm": [
        "lambda x, w, b, epsilon=1e-5: w * (x - x.mean(1)[:, None]) * (x.var(1)[:, None] + epsilon) ** -0.5 + b",
        "lambda x, w, b, epsilon=1e-5: np.stack([(r - r.mean()) / np.sqrt(r.var() + epsilon) * w + b for r in x])",
    ],
    "01.attention": [
        """
def attention(q, k, v):
    s = np.einsum('td,sd->ts', q, k) * q.shape[-1] ** -0.5
    s[np.triu_indices(len(q), 1)] = -1e9
    s -= s.max(1)[:, None]
    e = np.exp(s)
    return np.einsum('ts,sd->td', e / e.sum(1)[:, None], v)
""",
        "lambda q, k, v: np.stack([softmax(k[: t + 1] @ q[t] / len(q[t]) ** 0.5) @ v[: t + 1] for t in range(len(q))])",
    ],
    "01.softmax": [
        "lambda logits, temperature=1.0: np.exp(logits / temperature - np.logaddexp.reduce(logits / temperature))",
        "lambda logits, temperature=1.0: ours(logits + 5, temperature)",
    ],
    "02.visible": ["lambda n, s: np.tri(n, s, s - n, dtype=bool)", "lambda n, s: np.tri(n, s, s - n, dtype=int)"],
    "02.after": [
        """
def after(operations):
    slots = []
    for name, x in operations:
        if name == "rollback":
            del slots[x:]
        else:
            slots.extend(x)
    return slots
""",
        "lambda operations: np.array(ours(operations))",
        "lambda operations: tuple(ours(operations))",
    ],
    "02.cache_bytes": [
        "lambda l, c, n, b=4: float(n * c * b * l * 2)",
        "lambda l, c, n, b=4: np.int64(n * c * b * l * 2)",
    ],
    "02.lacking": ["lambda t, c: list(ours(t, c))", "lambda t, c: (np.int64(ours(t, c)[0]), tuple(ours(t, c)[1]))"],
    "03.intensity": ["lambda rows, b: rows / b * 2", "lambda rows, b: np.float32(2 * rows / b)"],
    "03.weights_read": ["lambda n, c, i, v: c * (v + n * (4 * c + 2 * i))"],
    "03.floor_seconds": ["lambda n, m, b, w, p: n * max(b / w, 2 * m / p)", "lambda *a: np.array(ours(*a))"],
    "03.ridge_rows": ["lambda b, w, p: p / w * b / 2"],
    "04.decide": ["lambda d, c: next([i, c[i]] for i in range(len(c)) if i == len(d) or d[i] != c[i])"],
    "04.speculate": [
        """
def speculate(propose, choose, prompt, gamma, num_tokens):
    new, rounds = [], 0
    while len(new) < num_tokens:
        tokens = [*prompt, *new]
        drafted = propose(tokens, gamma)
        a, t = decide(drafted, choose(tokens, drafted))
        new += [*drafted[:a], t]
        rounds += 1
    return new[:num_tokens], rounds
""",
        "lambda p, c, prompt, g, n: list(ours(p, c, tuple(prompt), g, n))",
        """
def speculate(propose, choose, prompt, gamma, num_tokens):
    new, rounds = [], 0
    while len(new) < num_tokens:
        tokens = [*prompt, *new]
        drafted = propose(tokens, min(gamma, num_tokens - len(new)))
        accepted, following = decide(drafted, choose(tokens, drafted))
        new += [*drafted[:accepted], following]
        rounds += 1
    return new[:num_tokens], rounds
""",
    ],
    "04.per_pass": ["lambda n, a: 1 / (1 - a / n)"],
    "05.accept": [
        "lambda p, q, u: int(u < p / q)",
        "lambda p, q, u: np.bool_(u * q < p)",
        "lambda p, q, u: p >= q or u < p / q",
    ],
    "05.residual": [
        "lambda p, q: (lambda r: r / r.sum() if r.sum() > 1e-12 else p + 0)(np.clip(p - q, 0, None))",
        "lambda p, q: (lambda r: p.copy() if np.isclose(r.sum(), 0) else r / r.sum())(np.where(p > q, p - q, 0))",
        "lambda p, q: np.clip(p - q, 0, 1) / (p - q)[p > q].sum() if (p > q).any() else p",
    ],
    "05.judge": ["lambda p, q, t, ua, un: np.int64(t if ua * q[t] < p[t] else draw(residual(p, q), un))"],
    "05.one_token": [
        "lambda noise, p, q: ours(noise, p, q)",
        """
def one_token(noise, p, q):
    token = int(noise.categorical(q, DRAFT))
    if p[token] < q[token] and not noise.bernoulli(p[token] / q[token], ACCEPT):
        token = noise.categorical(residual(p, q), RESIDUAL)
    return token
""",
        """
def one_token(noise, p, q):
    token = noise.categorical(q, DRAFT)
    rejected = noise.bernoulli(max(0.0, 1 - p[token] / q[token]), ACCEPT)
    return noise.categorical(residual(p, q), RESIDUAL) if rejected else token
""",
    ],
    "05.two_ways": ["lambda p, q: np.stack([np.minimum(p, q), np.maximum(p - q, 0)])"],
    "06.tau": [
        "lambda a, g: g + 1 if np.isclose(a, 1) else (1 - a ** (g + 1)) / (1 - a)",
        "lambda a, g: (1 - a ** (g + 1)) / (1 - a) if a < 1 else g + 1",
        "lambda a, g: float(np.polyval(np.ones(g + 1), a))",
    ],
    "06.acceptance_rate": ["lambda a, g: sum(a**k for k in range(1, g + 1)) / g"],
    "06.alpha_of": [
        """
def alpha_of(rate, gamma):
    a = 0.5
    for _ in range(200):
        h = 1e-7
        slope = (acceptance_rate(a + h, gamma) - acceptance_rate(a - h, gamma)) / (2 * h)
        a = min(1.0, max(0.0, a - (acceptance_rate(a, gamma) - rate) / slope))
    return a
""",
        "lambda r, g: max(z.real for z in np.roots([*([1.0] * g), -r * g]) if abs(z.imag) < 1e-9)",
        "lambda r, g: float(next(x.real for x in np.roots([*np.ones(g), -r * g]) if abs(x.imag) < 1e-9 and -1e-9 <= x.real <= 1 + 1e-9))",
    ],
    "06.speedup": ["lambda a, g, c, v=1.0: 1 / ((g * c + v) / tau(a, g))"],
    "06.best_gamma": [
        "lambda a, c, v=0.0, largest=20: max(range(largest + 1), key=lambda g: ((1 - a ** (g + 1)) / (1 - a) if a < 1 else g + 1) / (g * (c + v) + 1))",
        "lambda a, c, v=0.0, largest=20: max(range(largest + 1), key=lambda g: speedup(a, g, c, 1 + v * g))",
    ],
    "06.tokens_law": ["lambda a, g: -np.diff([*(a**k for k in range(g + 1)), 0.0])"],
    "07.same_vocabulary": [
        "lambda a, b: 'sizes differ' if len(a) != len(b) else min((t for t in a if b.get(t) != a[t]), key=a.get, default='same')"
    ],
    "07.rank": [
        """
def rank(drafts, v_per_row=0.04, largest=12):
    out = []
    for name, (a, c) in drafts.items():
        best = max((g + 1 if a == 1 else (1 - a ** (g + 1)) / (1 - a)) / (1 + g * (c + v_per_row)) for g in range(1, largest + 1))
        if best > 1:
            out.append((best, name))
    out.sort(reverse=True)
    return [name for _, name in out]
""",
        "lambda d, v=0.04, largest=12: tuple(ours(d, v, largest))",
    ],
    "07.with_acceptance": [
        "lambda p, a: p + (1 - a) / max(np.maximum(p - 1 / len(p), 0).sum(), 1e-300) * (1 / len(p) - p)"
    ],
    "07.seems_broken": [
        "lambda qs, num_accepted: False if len(qs) < 100 else sum(qs) * 0.3 > num_accepted",
        "lambda qs, num_accepted: bool(len(qs) > 99 and num_accepted - 0.3 * np.sum(qs) < 0)",
        "lambda qs, num_accepted: len(qs) >= 100 and num_accepted / sum(qs) < 0.3",
    ],
    "07.propose": [
        "lambda t, g, size=2: next((t[i : i + g] for i in range(len(t) - 1, size - 1, -1) if t[i - size : i] == t[-size:]), [])"
    ],
    "08.draft_length": ["lambda f, c, row, eta: int(np.argmin([*(np.cumprod(f) > (c + row) * eta), False]))"],
    "08.heuristic": ["lambda h, start=5, largest=20: np.int64(ours([r for r in h if r[0]], start, largest))"],
    "08.simulate": ["lambda f, run, c, row: np.float64(ours(f, tuple(run), c, row))"],
    "08.fallback": ["lambda h, g, worth, window=8, probe=10: float(ours(h, g, worth, window, probe))"],
    "09.match_rate": ["lambda p, q: np.dot(p, q)", "lambda p, q: sum(float(a) * float(b) for a, b in zip(p, q))"],
    "09.race": [
        "lambda p, e: int(np.argmax(p / e))",
        "lambda p, e: np.argmin(e / p)",
        "lambda p, e: int(np.argmax(np.log(p) - np.log(e)))",
    ],
    "09.survivals": ["lambda p, q, block: np.array(ours(p, q, block))", "lambda p, q, block: tuple(ours(p, q, block))"],
    "09.two_guesses": [
        "lambda p, q: np.minimum(p, q).sum() + np.minimum(np.maximum(p - q, 0), (1 - np.minimum(p, q).sum()) * q).sum()"
    ],
    "09.lenient_law": [
        "lambda p, q, l: (a := np.minimum(q, p / l)) + (1 - a.sum()) * np.maximum(p - q, 0) / max(np.maximum(p - q, 0).sum(), 1e-300)"
    ],
    "10.pack": [
        "lambda w, n: np.ascontiguousarray(np.pad(w, ((0, 0), (0, -w.shape[1] % n))).reshape(len(w), -1, n).swapaxes(0, 1))"
    ],
    "10.panel_product": [
        "lambda x, panels, n: (x @ panels.swapaxes(0, 1).reshape(x.shape[1], -1))[:, :n]",
        "lambda x, panels, num_outputs: ours(x, panels, num_outputs).astype(np.float64)",
    ],
    "10.batch_invariant": ["lambda f, x: int(np.array_equal(f(x), np.concatenate([f(r[None]) for r in x])))"],
    "10.quantise": [
        "lambda w: [*ours(w)]",
        "lambda w: (np.rint(w * 127 / np.where(ours(w)[1] == 1, 127, np.abs(w).max(0))).astype(np.int8), ours(w)[1])",
        "lambda w: (np.rint(w / (np.abs(w).max(0).astype(float) / 127 + ~w.any(0))).astype(np.int8), ours(w)[1])",
    ],
    "11.retracted": ["lambda steps: sum(len(''.join(t[a:])) for t, a in steps)"],
    "11.complete": ["lambda data: len(data.decode(errors='ignore').encode())"],
    "11.held_back": [
        "lambda text, stop: max(n for n in range(len(stop)) if text.endswith(stop[:n]))",
        "lambda text, stop: max(n for n in range(len(stop) + 1) if text.endswith(stop[:n]))",
        "lambda text, stop: next((len(text) - i for i in range(len(text)) if stop.startswith(text[i:])), 0)",
        "lambda text, stop: 1 / 0 if stop in text else ours(text, stop)",
    ],
    "11.lockstep": ["lambda accepted: int(sum(np.min(step) for step in accepted)) + len(accepted)"],
    "11.ends": [
        "lambda steps, places: ours(steps, min(places, max(1, len(steps))))",
        "lambda steps, places: tuple(ours(steps, places))",
    ],
    "11.pages_held": [
        "lambda lengths, shared, size: sum(int(np.ceil(n / size)) for n in lengths) - shared // size * (len(lengths) - 1)",
        "lambda lengths, shared, size: shared // size + sum((n - shared // size * size + size - 1) // size for n in lengths)",
    ],
    "11.batch_speedup": [
        "lambda a, g, c, b, r: (sum(a**k for k in range(g + 1)) / (g * c + max(r, b * (g + 1)) / max(r, b)))"
    ],
    "11.share_rows": [
        """
def share_rows(chances, rows):
    given = [0] * len(chances)
    left = [row[0] if row else 0.0 for row in chances]
    for _ in range(min(rows, sum(map(len, chances)))):
        i = max(range(len(chances)), key=left.__getitem__)
        given[i] += 1
        left[i] *= chances[i][given[i]] if given[i] < len(chances[i]) else -1.0
    return given
"""
    ],
    "12.verdict": [
        "lambda c, m: 'false' if max(c[0], m[0]) > min(c[1], m[1]) else 'holds' if m == (max(c[0], m[0]), min(c[1], m[1])) else 'undecided'"
    ],
    "12.interval": ["lambda p, f, k: np.percentile([np.median([p[i] / f[i] for i in row]) for row in k], [5, 95])"],
    "12.decode_bound": ["lambda n, bits, m, s: 8 * s / n / bits if n * bits <= 8 * m else 0"],
    "12.same_pair": ["lambda a, g, b, h: int(ours(b, h, a, g))"],
    "13.read_log": ["lambda a, d, t: np.array([a / (t - 1), d * (t - 1) / a])"],
    "13.first_difference": [
        "lambda a, b: next((i for i in range(max(len(a), len(b))) if a[i : i + 1] != b[i : i + 1]), None)"
    ],
    "13.launch_bound": ["lambda n, k, us, data, speed: bool(n * k * us > data / speed / 1e3)"],
    "14.read_state": [
        "lambda s, n, w, b: layer_norm(s, w, b)[n - 1]",
        "lambda s, n, w, b: layer_norm(s[:n], w, b)[-1]",
    ],
    "14.acceptance": [
        "lambda p, q: 1 - np.abs(p - q).sum(axis=1).mean() / 2",
        "lambda p, q: np.minimum(p, q).sum() / len(p)",
    ],
    "14.guess_logits": [
        "lambda h, x, W, b, o: h @ o.T + gelu(b + x @ W) @ o.T",
        "lambda h, x, W, b, o: (o @ (h + gelu(x @ W + b)).T).T",
    ],
    "14.gradient": [
        "lambda h, x, W, b, o, p: list(ours(h, x, W, b, o, p))",
        "lambda h, x, W, b, o, p: (da := (_q(h, x, W, b, o) - p) @ o * gelu_slope(x @ W + b), (np.einsum('rd,rc->dc', x, da) / len(p), da.mean(axis=0)))[1]",
    ],
    "15.feed_itself": [
        "lambda s, t, W, b: np.array([s := s + gelu(s @ W[: len(s)] + x @ W[len(s) :] + b) for x in t])",
        "lambda s, t, W, b: np.vstack([ours(s, t[: k + 1], W, b)[-1:] for k in range(len(t))])",
    ],
    "15.keep_best": [
        "lambda rows, n: [path for path, _ in sorted(_paths(rows), key=lambda node: (-node[1], len(node[0])))][:n]",
        "lambda rows, n: [list(path) for path in ours(rows, n)]",
        "lambda rows, n: 1 / 0 if any((row == 0).any() for row in rows) else ours(rows, n)",
    ],
}
# fmt: skip
