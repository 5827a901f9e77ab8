"""You run the whole text through the network again for each new token; feed the prompt to a cache once, then only the
newest token.
"""

FAILS = "a1.q7.cost"


def generate(params, n_head, prompt, max_tokens):
    tokens = list(prompt)
    while len(tokens) < len(prompt) + max_tokens:
        tokens.append(int(np.argmax(forward(params, n_head, tokens)[-1])))
    return tokens[len(prompt) :]
