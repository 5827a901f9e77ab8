"""Pops by a growing index from a list that shrinks."""

FAILS = "a1.q6.rollback"
MISTAKE = "rollback_pops_as_it_shrinks"


def new_cache(params, n_head, capacity):
    return [([], []) for _ in range(count_layers(params))]


def forward_cached(params, n_head, tokens, cache):
    x = embed(params, tokens, len(cache[0][0]))
    for i, (ks, vs) in enumerate(cache):
        h = layer_norm(x, params[f"h.{i}.ln_1.weight"], params[f"h.{i}.ln_1.bias"])
        h = h @ params[f"h.{i}.attn.c_attn.weight"] + params[f"h.{i}.attn.c_attn.bias"]
        q, k, v = (m.reshape(len(x), n_head, -1) for m in np.split(h, 3, axis=1))
        ks += list(k)
        vs += list(v)
        a = causal_attention(q, np.array(ks), np.array(vs)).reshape(x.shape)
        x = x + a @ params[f"h.{i}.attn.c_proj.weight"] + params[f"h.{i}.attn.c_proj.bias"]
        x = x + mlp_block(params, i, x)
    return unembed(params, x)


def rollback(cache, length):
    for ks, vs in cache:
        for i in range(length, len(ks)):
            ks.pop(i)
            vs.pop(i)
