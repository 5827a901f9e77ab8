"""After a full acceptance the last draft is fed to the draft model right away, in a forward of its own."""


def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    tokens, generated = list(prompt), 0
    while generated < max_tokens and (not generated or tokens[-1] != eos):
        width = min(gamma, max_tokens - generated - 1)
        drafted, rows = propose(draft, tokens, width, noise)
        start = target.length()
        scores = target.score(tokens[start:] + drafted)
        kept, token = verify(drafted, rows, scores[len(scores) - width - 1 :], noise)
        if kept == width and width > 0:
            draft.score(drafted[-1:])
        fresh = [*drafted[:kept], token]
        if eos in fresh:
            fresh = fresh[: fresh.index(eos) + 1]
        tokens.extend(fresh)
        generated += len(fresh)
        for session in (target, draft):
            session.rollback(len(tokens) - 1)
    return tokens[len(prompt) :]
