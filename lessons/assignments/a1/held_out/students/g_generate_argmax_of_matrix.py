"""Takes the argmax of the whole matrix of logits, not of a row."""

FAILS = "a1.q7.greedy"
MISTAKE = "generate_argmax_of_all_rows"


def generate(params, n_head, prompt, max_tokens):
    cache = new_cache(params, n_head, len(prompt) + max_tokens)
    answer = []
    tokens = prompt
    for _ in range(max_tokens):
        logits = forward_cached(params, n_head, tokens, cache)
        best = int(np.argmax(logits)) % logits.shape[1]
        answer.append(best)
        tokens = [best]
    return answer
