"""The prompt's last token is fed again."""

FAILS = "a1.q7.greedy"
MISTAKE = "generate_refeeds_the_prompt_token"


def generate(params, n_head, prompt, max_tokens):
    cache = new_cache(params, n_head, len(prompt) + max_tokens + 1)
    forward_cached(params, n_head, list(prompt), cache)
    last, out = prompt[-1], []
    for _ in range(max_tokens):
        last = int(forward_cached(params, n_head, [last], cache)[-1].argmax())
        out.append(last)
    return out
