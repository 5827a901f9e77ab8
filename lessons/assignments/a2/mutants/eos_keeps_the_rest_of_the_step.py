"""You stop at eos but keep the tokens of the same step behind it."""

FAILS = "a2.q6.ends"


def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    tokens = list(prompt)
    end = len(prompt) + max_tokens
    while len(tokens) < end:
        drafted, draft_probs = propose(draft, tokens, min(gamma, end - len(tokens) - 1), noise)
        pending = tokens[target.length() :]
        target_probs = target.score(pending + drafted)[len(pending) - 1 :]
        num_accepted, token = verify(drafted, draft_probs, target_probs, noise)
        tokens += [*drafted[:num_accepted], token]
        if eos in [*drafted[:num_accepted], token]:
            break
        target.rollback(len(tokens) - 1)
        draft.rollback(len(tokens) - 1)
    return tokens[len(prompt) :]
