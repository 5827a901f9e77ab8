"""Tosses all coins first and counts the accepted ones, wherever they stand."""

FAILS = "a2.q4.prefix"
MISTAKE = "verify_counts_all_accepted"


def verify(draft_tokens, draft_probs, target_probs, noise):
    ok = []
    for i, t in enumerate(draft_tokens):
        ok.append(noise.bernoulli(min(1.0, target_probs[i][t] / draft_probs[i][t])))
    n = sum(ok)
    if n == len(draft_tokens):
        return n, noise.categorical(target_probs[n])
    return n, noise.categorical(residual(target_probs[n], draft_probs[n]))
