"""Public tests of A1: `python -m pytest test_a1.py`. The grader asks more."""

import a1
import numpy as np

WIDTH, HEADS, VOCAB = 4, 2, 5


def small_model(seed=0):
    """Return the parameters of one layer."""
    rng = np.random.default_rng(seed)
    shapes = {"attn.c_attn": (WIDTH, 3 * WIDTH), "attn.c_proj": (WIDTH, WIDTH)}
    shapes |= {"mlp.c_fc": (WIDTH, 4 * WIDTH), "mlp.c_proj": (4 * WIDTH, WIDTH)}
    params = {"wte": rng.normal(size=(VOCAB, WIDTH)), "wpe": rng.normal(size=(16, WIDTH))}
    for name, shape in shapes.items():
        params[f"h.0.{name}.weight"], params[f"h.0.{name}.bias"] = rng.normal(size=shape), rng.normal(size=shape[1])
    for name in ("h.0.ln_1", "h.0.ln_2", "ln_f"):
        params[f"{name}.weight"], params[f"{name}.bias"] = rng.normal(size=WIDTH), rng.normal(size=WIDTH)
    return params


def close(found, wanted):
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)


def test_layer_norm_of_two_numbers():
    close(a1.layer_norm(np.array([[1.0, 3.0]]), np.ones(2), np.zeros(2)), [[-1.0, 1.0]])


def test_layer_norm_of_equal_numbers_is_the_bias():
    close(a1.layer_norm(np.full((2, 3), 7.0), np.ones(3), np.arange(3.0)), [[0.0, 1.0, 2.0]] * 2)


def test_gelu():
    close(a1.gelu(np.array([-1.0, 0.0, 1.0])), [-0.158808, 0.0, 0.841192])


def test_attention_with_equal_scores_is_a_running_mean():
    values = np.array([1.0, 3.0, 8.0]).reshape(3, 1, 1)
    close(a1.causal_attention(np.zeros((3, 1, 1)), np.zeros((3, 1, 1)), values).ravel(), [1.0, 2.0, 4.0])


def test_attention_of_the_last_token_alone_sees_all():
    values = np.array([1.0, 3.0, 8.0]).reshape(3, 1, 1)
    close(a1.causal_attention(np.zeros((1, 1, 1)), np.zeros((3, 1, 1)), values).ravel(), [4.0])


def test_logits_do_not_depend_on_what_follows():
    params = small_model()
    long, short = a1.forward(params, HEADS, [3, 1, 4]), a1.forward(params, HEADS, [3, 1])
    assert long.shape == (3, VOCAB)
    close(long[:2], short)


def test_logits_depend_on_the_order():
    params = small_model()
    assert not np.allclose(a1.forward(params, HEADS, [3, 1, 4])[-1], a1.forward(params, HEADS, [1, 3, 4])[-1])


def test_a_text_in_pieces():
    params, cache = small_model(), a1.new_cache(small_model(), HEADS, 8)
    pieces = [a1.forward_cached(params, HEADS, tokens, cache) for tokens in ([3], [1, 4], [1])]
    close(np.concatenate(pieces), a1.forward(params, HEADS, [3, 1, 4, 1]))


def test_going_back():
    params, cache = small_model(), a1.new_cache(small_model(), HEADS, 8)
    a1.forward_cached(params, HEADS, [3, 1, 4], cache)
    a1.rollback(cache, 1)
    close(a1.forward_cached(params, HEADS, [2], cache), a1.forward(params, HEADS, [3, 2])[-1:])


def test_generate_takes_the_likeliest_token():
    params = small_model()
    tokens = [int(token) for token in a1.generate(params, HEADS, [3, 1], 2)]
    assert tokens[0] == np.argmax(a1.forward(params, HEADS, [3, 1])[-1])
    assert tokens[1] == np.argmax(a1.forward(params, HEADS, [3, 1, tokens[0]])[-1])


def test_counting_on_paper():
    assert a1.forward_rows(5, 3, True) == 5 + 1 + 1
    assert a1.forward_rows(5, 3, False) == 5 + 6 + 7
    assert a1.cache_bytes(1, 2, 3, 4) == 48
