"""Takes only the draft's cache back."""

FAILS = "a2.q6.law"
MISTAKE = "loop_target_not_rolled_back"


def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    answer = []
    while len(answer) < max_tokens:
        text = prompt + answer
        count = min(gamma, max_tokens - len(answer) - 1)
        guesses, q = propose(draft, text, count, noise)
        feed = text[target.length() :] or text[-1:]
        p = target.score(feed + guesses)[-count - 1 :]
        n, token = verify(guesses, q, p, noise)
        for t in [*guesses[:n], token]:
            answer.append(t)
            if t == eos:
                return answer
        draft.rollback(len(prompt) + len(answer) - 1)
    return answer
