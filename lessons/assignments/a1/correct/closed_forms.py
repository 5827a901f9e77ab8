"""Counting in closed form; gelu through the logistic function, which is the same as the tanh form."""


def gelu(x):
    return x / (1.0 + np.exp(-np.clip(2.0 * np.sqrt(2.0 / np.pi) * (x + 0.044715 * x * x * x), -700.0, 700.0)))


def forward_rows(num_prompt, num_new, cached):
    if cached:
        return (num_prompt + num_new - 1) * (num_new > 0)
    return num_prompt * num_new + num_new * (num_new - 1) // 2


def cache_bytes(n_layer, n_embd, num_tokens, bytes_per_number):
    return float(n_layer * n_embd * num_tokens * (bytes_per_number + bytes_per_number))
