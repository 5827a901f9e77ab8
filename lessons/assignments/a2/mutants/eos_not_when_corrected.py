"""You look for eos among the accepted drafts only; the token behind them may be it too."""

FAILS = "a2.q6.ends"


def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    tokens = list(prompt)
    end = len(prompt) + max_tokens
    while len(tokens) < end:
        drafted, draft_probs = propose(draft, tokens, min(gamma, end - len(tokens) - 1), noise)
        pending = tokens[target.length() :]
        target_probs = target.score(pending + drafted)[len(pending) - 1 :]
        num_accepted, token = verify(drafted, draft_probs, target_probs, noise)
        for emitted in drafted[:num_accepted]:
            tokens.append(emitted)
            if emitted == eos:
                return tokens[len(prompt) :]
        tokens.append(token)
        target.rollback(len(tokens) - 1)
        draft.rollback(len(tokens) - 1)
    return tokens[len(prompt) :]
