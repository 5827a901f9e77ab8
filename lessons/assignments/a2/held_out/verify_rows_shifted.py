"""Row i + 1 judges draft i."""

FAILS = "a2.q4.prefix"
MISTAKE = "verify_next_rows"


def verify(draft_tokens, draft_probs, target_probs, noise):
    rows = target_probs[1:]
    for i, token in enumerate(draft_tokens):
        if not noise.bernoulli(min(1.0, rows[i][token] / draft_probs[i][token])):
            return i, noise.categorical(residual(rows[i], draft_probs[i]))
    return len(draft_tokens), noise.categorical(target_probs[-1])
