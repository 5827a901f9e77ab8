"""A rejected token is replaced from p."""

FAILS = "a2.q4.one"
MISTAKE = "verify_replaces_from_p"


def verify(draft_tokens, draft_probs, target_probs, noise):
    n = 0
    while n < len(draft_tokens):
        t = draft_tokens[n]
        if not noise.bernoulli(min(1.0, target_probs[n][t] / draft_probs[n][t])):
            break
        n += 1
    return n, noise.categorical(target_probs[n])
