"""The target's cache is not taken back."""

FAILS = "a2.q6.law"
MISTAKE = "loop_target_not_rolled_back"


def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    tokens, unseen = list(prompt), list(prompt)
    while (room := len(prompt) + max_tokens - len(tokens)) > 0:
        drafted, rows = propose(draft, tokens, min(gamma, room - 1), noise)
        scores = target.score(unseen + drafted)[len(unseen) - 1 :]
        count, token = verify(drafted, rows, scores, noise)
        fresh = drafted[:count] + [token]
        if eos in fresh:
            return (tokens + fresh[: fresh.index(eos) + 1])[len(prompt) :]
        tokens += fresh
        unseen = [token]
        draft.rollback(len(tokens) - 1)
    return tokens[len(prompt) :]
