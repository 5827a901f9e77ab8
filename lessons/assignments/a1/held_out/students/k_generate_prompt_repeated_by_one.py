"""Leaves the last token of the prompt out of the prefill and never feeds it."""

FAILS = "a1.q7.greedy"


def generate(params, n_head, prompt, max_tokens):
    cache = new_cache(params, n_head, len(prompt) + max_tokens)
    context = list(prompt[:-1]) or list(prompt)
    answer = []
    for _ in range(max_tokens):
        scores = forward_cached(params, n_head, context, cache)[-1]
        token = int(np.argmax(scores))
        context = [token]
        answer.append(token)
    return answer
