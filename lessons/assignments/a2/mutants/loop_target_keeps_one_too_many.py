"""You roll the target's cache back to one token too many: after a rejection its last one is the rejected draft."""

FAILS = "a2.q6.law"


def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    tokens = list(prompt)
    end = len(prompt) + max_tokens
    fed = 0
    while len(tokens) < end:
        drafted, draft_probs = propose(draft, tokens, min(gamma, end - len(tokens) - 1), noise)
        pending = tokens[fed:]
        target_probs = target.score(pending + drafted)[len(pending) - 1 :]
        num_accepted, token = verify(drafted, draft_probs, target_probs, noise)
        for emitted in [*drafted[:num_accepted], token]:
            tokens.append(emitted)
            if emitted == eos:
                return tokens[len(prompt) :]
        fed = len(tokens) - 1
        target.rollback(len(tokens))
        draft.rollback(len(tokens) - 1)
    return tokens[len(prompt) :]
