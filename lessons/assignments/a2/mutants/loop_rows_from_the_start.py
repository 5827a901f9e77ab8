"""You take the first rows of the target's forward; where the prompt was fed with the draft, the draft's rows are the
last gamma + 1.
"""

FAILS = "a2.q6.law"


def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    tokens = list(prompt)
    end = len(prompt) + max_tokens
    while len(tokens) < end:
        drafted, draft_probs = propose(draft, tokens, min(gamma, end - len(tokens) - 1), noise)
        pending = tokens[target.length() :]
        target_probs = target.score(pending + drafted)[: len(drafted) + 1]
        num_accepted, token = verify(drafted, draft_probs, target_probs, noise)
        for emitted in [*drafted[:num_accepted], token]:
            tokens.append(emitted)
            if emitted == eos:
                return tokens[len(prompt) :]
        target.rollback(len(tokens) - 1)
        draft.rollback(len(tokens) - 1)
    return tokens[len(prompt) :]
