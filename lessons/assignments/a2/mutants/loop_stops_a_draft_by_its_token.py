"""You throw away a drafted token because of which token it is, before it was judged: that biases the text. Decide to
stop before drawing.
"""

FAILS = "a2.q6.law"


def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    tokens = list(prompt)
    end = len(prompt) + max_tokens
    while len(tokens) < end:
        drafted, draft_probs = propose(draft, tokens, min(gamma, end - len(tokens) - 1), noise)
        sure = [row[token] >= 0.5 for row, token in zip(draft_probs, drafted)]
        drafted = drafted[: sure.index(False) if False in sure else len(sure)]
        pending = tokens[target.length() :]
        target_probs = target.score(pending + drafted)[len(pending) - 1 :]
        num_accepted, token = verify(drafted, draft_probs, target_probs, noise)
        for emitted in [*drafted[:num_accepted], token]:
            tokens.append(emitted)
            if emitted == eos:
                return tokens[len(prompt) :]
        target.rollback(len(tokens) - 1)
        draft.rollback(len(tokens) - 1)
    return tokens[len(prompt) :]
