"""Mistakes that students make in A2; minispec/course/grading/catalogue.py says how to read and write them."""


# %% accept_always fails a2.q1.accept in accept
# You accept every token.
# - return bool(u < p[token] / q[token])
# + return True

# %% accept_argmax fails a2.q1.accept in accept
# You accept exactly the target's likeliest token: that is the rule for temperature 0 only.
# - return bool(u < p[token] / q[token])
# + return bool(token == np.argmax(p))

# %% accept_by_difference fails a2.q1.accept in accept
# You reject with probability q - p; the chance is relative to q: reject with probability (q - p) / q.
# - return bool(u < p[token] / q[token])
# + return bool(u >= q[token] - p[token])

# %% accept_by_excess fails a2.q1.accept in accept
# You reject with probability q - p; the chance is relative to q: accept if u < p/q.
# - return bool(u < p[token] / q[token])
# + return bool(u < 1.0 + p[token] - q[token])

# %% accept_by_one_minus_u fails a2.q1.accept in accept
# You compare 1 - u with the ratio: the right probability, but the task says: accept exactly if u < p/q.
# - return bool(u < p[token] / q[token])
# + return bool(1.0 - u < p[token] / q[token])

# %% accept_by_p fails a2.q1.accept in accept
# You accept with probability p; what the draft already favours by q must be divided out: p/q.
# - return bool(u < p[token] / q[token])
# + return bool(u < p[token])

# %% accept_epsilon fails a2.q1.never in accept
# You add a small constant to p: a token the target never emits can then be accepted.
# - return bool(u < p[token] / q[token])
# + return bool(u < (p[token] + 1e-8) / (q[token] + 1e-8))

# %% accept_equal fails a2.q1.never in accept
# You accept where u equals the ratio: with p = 0 and u = 0 that is a token the target never emits. Use <, not <=.
# - return bool(u < p[token] / q[token])
# + return bool(u <= p[token] / q[token])

# %% accept_if_above fails a2.q1.accept in accept
# Your comparison is the wrong way round: accept if u lies below the ratio.
# - return bool(u < p[token] / q[token])
# + return bool(u > p[token] / q[token])

# %% accept_inverted fails a2.q1.accept in accept
# Your ratio is upside down: accept with probability p/q, not q/p.
# - return bool(u < p[token] / q[token])
# + return bool(u < q[token] / max(p[token], 1e-300))

# %% accept_share fails a2.q1.accept in accept
# You divide by p + q; the ratio is p/q.
# - return bool(u < p[token] / q[token])
# + return bool(u < p[token] / (p[token] + q[token]))

# %% accept_without_coin fails a2.q1.accept in accept
# You accept exactly if p >= q and never toss the coin: a token with p < q is accepted with probability p/q.
# - return bool(u < p[token] / q[token])
# + return bool(p[token] >= q[token])

# %% bonus_argmax fails a2.q4.bonus in verify
# Your bonus token is the target's likeliest; draw it.
# - return len(draft_tokens), noise.categorical(target_probs[len(draft_tokens)])
# + if not draft_tokens:
# +     return 0, noise.categorical(target_probs[0])
# + return len(draft_tokens), int(np.argmax(target_probs[len(draft_tokens)]))

# %% bonus_from_the_draft fails a2.q4.bonus in verify
# Your bonus token is drawn from the draft's last row; it comes from the target's.
# - return len(draft_tokens), noise.categorical(target_probs[len(draft_tokens)])
# + row = draft_probs[-1] if len(draft_tokens) else target_probs[0]
# + return len(draft_tokens), noise.categorical(row)

# %% bonus_from_the_residual fails a2.q4.bonus in verify
# Your bonus token is drawn from a residual; nothing was rejected, so it is drawn from the target's row as it is.
# - return len(draft_tokens), noise.categorical(target_probs[len(draft_tokens)])
# + row = target_probs[len(draft_tokens)]
# + return len(draft_tokens), noise.categorical(residual(row, draft_probs[-1]) if draft_tokens else row)

# %% bonus_missing fails a2.q4.bonus in verify
# There is no bonus: after full acceptance you hand the last draft back as the next token and waste the target's last
# row.
# - return len(draft_tokens), noise.categorical(target_probs[len(draft_tokens)])
# + if not draft_tokens:
# +     return 0, noise.categorical(target_probs[0])
# + return len(draft_tokens) - 1, draft_tokens[-1]

# %% bonus_row_too_early fails a2.q4.bonus in verify
# Your bonus token comes from row gamma - 1; after full acceptance it comes from row gamma, behind the last draft.
# - return len(draft_tokens), noise.categorical(target_probs[len(draft_tokens)])
# + return len(draft_tokens), noise.categorical(target_probs[max(0, len(draft_tokens) - 1)])

# %% cost_draft_lacks_the_last_accepted fails a2.q6.cost in speculative
# After a full acceptance the draft's cache lacks one token, the last draft, which was never fed to it.
# - while len(tokens) < end:
# -     drafted, draft_probs = propose(draft, tokens, min(gamma, end - len(tokens) - 1), noise)
# -     pending = tokens[target.length() :]
# -     target_probs = target.score(pending + drafted)[len(pending) - 1 :]
# -     num_accepted, token = verify(drafted, draft_probs, target_probs, noise)
# + pending = list(prompt)
# + while len(tokens) < end:
# +     drafted, rows, unseen = [], [], pending if draft.length() == 0 else tokens[-1:]
# +     for _ in range(min(gamma, end - len(tokens) - 1)):
# +         rows.append(draft.score(unseen)[-1])
# +         drafted.append(noise.categorical(rows[-1]))
# +         unseen = drafted[-1:]
# +     pending = tokens[target.length() :]
# +     target_probs = target.score(pending + drafted)[len(pending) - 1 :]
# +     num_accepted, token = verify(drafted, np.array(rows), target_probs, noise)


# %% cost_draft_not_rolled_back fails a2.q6.cost
# The draft's cache keeps its rejected tokens: its later drafts continue a text that does not exist.
def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    tokens = list(prompt)
    end = len(prompt) + max_tokens
    unseen = list(prompt)
    while len(tokens) < end:
        drafted, rows = [], []
        for _ in range(min(gamma, end - len(tokens) - 1)):
            rows.append(draft.score(unseen)[-1])
            drafted.append(noise.categorical(rows[-1]))
            unseen = drafted[-1:]
        pending = tokens[target.length() :]
        target_probs = target.score(pending + drafted)[len(pending) - 1 :]
        num_accepted, token = verify(drafted, np.array(rows), target_probs, noise)
        for emitted in [*drafted[:num_accepted], token]:
            tokens.append(emitted)
            if emitted == eos:
                return tokens[len(prompt) :]
        unseen = tokens[-1:] if num_accepted < len(drafted) else tokens[-2:]
        target.rollback(len(tokens) - 1)
    return tokens[len(prompt) :]


# %% cost_draft_starts_over fails a2.q6.cost
# You empty the draft's cache and feed it the whole text in every step.
right_loop = speculative


class Forgetful:
    def __init__(self, session):
        self.score, self.length, self.session = session.score, session.length, session

    def rollback(self, length):
        self.session.rollback(0)


def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    return right_loop(target, Forgetful(draft), prompt, max_tokens, gamma, noise, eos)


# %% cost_drafts_beyond_the_end fails a2.q6.cost in speculative
# You draft gamma tokens although fewer may be emitted, and cut afterwards: forwards and rows for nothing.
# -     drafted, draft_probs = propose(draft, tokens, min(gamma, end - len(tokens) - 1), noise)
# -     pending = tokens[target.length() :]
# -     target_probs = target.score(pending + drafted)[len(pending) - 1 :]
# -     num_accepted, token = verify(drafted, draft_probs, target_probs, noise)
# -     for emitted in [*drafted[:num_accepted], token]:
# -         tokens.append(emitted)
# -         if emitted == eos:
# +     drafted, draft_probs = propose(draft, tokens, gamma, noise)
# +     pending = tokens[target.length() :]
# +     target_probs = target.score(pending + drafted)[len(pending) - 1 :]
# +     num_accepted, token = verify(drafted, draft_probs, target_probs, noise)
# +     for emitted in [*drafted[:num_accepted], token]:
# +         tokens.append(emitted)
# +         if emitted == eos or len(tokens) == end:


# %% cost_feeds_the_accepted_again fails a2.q6.cost
# You take the caches back to where the step began, and feed the accepted drafts again; keep them: go back to all of
# the text but its last token.
def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    tokens = list(prompt)
    end = len(prompt) + max_tokens
    while len(tokens) < end:
        begin = len(tokens) - 1
        drafted, draft_probs = propose(draft, tokens, min(gamma, end - len(tokens) - 1), noise)
        pending = tokens[target.length() :]
        target_probs = target.score(pending + drafted)[len(pending) - 1 :]
        num_accepted, token = verify(drafted, draft_probs, target_probs, noise)
        for emitted in [*drafted[:num_accepted], token]:
            tokens.append(emitted)
            if emitted == eos:
                return tokens[len(prompt) :]
        target.rollback(begin)
        draft.rollback(begin)
    return tokens[len(prompt) :]


# %% cost_forward_for_the_bonus fails a2.q6.cost
# You run the target once more for the bonus token; its row came with the rows of the drafts.
right_loop = speculative


class Twice:
    def __init__(self, session):
        self.session, self.rollback, self.length = session, session.rollback, session.length

    def score(self, tokens):
        rows = self.session.score(tokens)
        self.session.rollback(self.session.length() - 1)
        return np.concatenate([rows[:-1], self.session.score(tokens[-1:])])


def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    return right_loop(Twice(target), draft, prompt, max_tokens, gamma, noise, eos)


# %% cost_last_draft_alone fails a2.q6.cost
# You feed the last draft in a forward of its own to get the bonus's row; feed it with the others.
right_loop = speculative


class InTwo:
    def __init__(self, session):
        self.session, self.rollback, self.length = session, session.rollback, session.length

    def score(self, tokens):
        if len(tokens) < 2:
            return self.session.score(tokens)
        return np.concatenate([self.session.score(tokens[:-1]), self.session.score(tokens[-1:])])


def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    return right_loop(InTwo(target), draft, prompt, max_tokens, gamma, noise, eos)


# %% cost_no_drafts fails a2.q6.cost
# You never draft: this is plain decoding, one target forward per token.
right_loop = speculative


def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    return right_loop(target, draft, prompt, max_tokens, 0, noise, eos)


# %% cost_one_draft_at_a_time fails a2.q6.cost
# You score the drafts one by one; all of them go through the target in one forward.
right_loop = speculative


class OneByOne:
    def __init__(self, session):
        self.session, self.rollback, self.length = session, session.rollback, session.length

    def score(self, tokens):
        return np.concatenate([self.session.score([token]) for token in tokens])


def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    return right_loop(OneByOne(target), draft, prompt, max_tokens, gamma, noise, eos)


# %% cost_pending_token_alone fails a2.q6.cost
# You feed the pending token in a forward of its own before the drafts; feed it together with them.
right_loop = speculative


class Alone:
    def __init__(self, session):
        self.session, self.rollback, self.length = session, session.rollback, session.length

    def score(self, tokens):
        first = self.session.score(tokens[:1])
        return np.concatenate([first, self.session.score(tokens[1:])]) if len(tokens) > 1 else first


def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    return right_loop(Alone(target), draft, prompt, max_tokens, gamma, noise, eos)


# %% cost_room_for_one_drafts_one fails a2.q6.cost in speculative
# With room for one token you still draft one; the target's own token fills that room.
# -     drafted, draft_probs = propose(draft, tokens, min(gamma, end - len(tokens) - 1), noise)
# -     pending = tokens[target.length() :]
# -     target_probs = target.score(pending + drafted)[len(pending) - 1 :]
# -     num_accepted, token = verify(drafted, draft_probs, target_probs, noise)
# -     for emitted in [*drafted[:num_accepted], token]:
# -         tokens.append(emitted)
# -         if emitted == eos:
# +     drafted, draft_probs = propose(draft, tokens, min(gamma, max(1, end - len(tokens) - 1)), noise)
# +     pending = tokens[target.length() :]
# +     target_probs = target.score(pending + drafted)[len(pending) - 1 :]
# +     num_accepted, token = verify(drafted, draft_probs, target_probs, noise)
# +     for emitted in [*drafted[:num_accepted], token]:
# +         tokens.append(emitted)
# +         if emitted == eos or len(tokens) == end:

# %% cost_starts_over fails a2.q6.cost
# You empty the target's cache and feed the whole text in every step.
right_loop = speculative


class Forgetful:
    def __init__(self, session):
        self.score, self.length, self.session = session.score, session.length, session

    def rollback(self, length):
        self.session.rollback(0)


def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    return right_loop(Forgetful(target), draft, prompt, max_tokens, gamma, noise, eos)


# %% empty_draft_argmax fails a2.q4.empty in verify
# Without a draft you take the likeliest token; draw from the target's only row.
# - for i, token in enumerate(draft_tokens):
# + if not draft_tokens:
# +     return 0, int(np.argmax(target_probs[0]))
# + for i, token in enumerate(draft_tokens):


# %% empty_draft_crashes fails a2.q4.empty
# An empty draft makes you read a row that is not there; then the token comes from the target's only row.
def verify(draft_tokens, draft_probs, target_probs, noise):
    last = draft_probs[len(draft_tokens) - 1]
    for i, token in enumerate(draft_tokens):
        if not noise.bernoulli(min(1.0, target_probs[i][token] / draft_probs[i][token])):
            return i, noise.categorical(residual(target_probs[i], draft_probs[i]))
    return len(draft_tokens), noise.categorical(target_probs[len(draft_tokens)] + 0.0 * last)


# %% eos_at_the_end_of_a_step_only fails a2.q6.ends in speculative
# You look for eos only at the last token of each step; a draft in the middle may be it.
# -     for emitted in [*drafted[:num_accepted], token]:
# -         tokens.append(emitted)
# -         if emitted == eos:
# -             return tokens[len(prompt) :]
# +     tokens += [*drafted[:num_accepted], token]
# +     if tokens[-1] == eos:
# +         break

# %% eos_ignored fails a2.q6.ends
# Your text goes on behind eos.
right_loop = speculative


def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    return right_loop(target, draft, prompt, max_tokens, gamma, noise)


# %% eos_in_the_prompt fails a2.q6.ends
# An eos in the prompt ends your text at once; only a generated one does.
right_loop = speculative


def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    if eos is not None and eos in prompt:
        return []
    return right_loop(target, draft, prompt, max_tokens, gamma, noise, eos)


# %% eos_keeps_the_rest_of_the_step fails a2.q6.ends in speculative
# You stop at eos but keep the tokens of the same step behind it.
# -     for emitted in [*drafted[:num_accepted], token]:
# -         tokens.append(emitted)
# -         if emitted == eos:
# -             return tokens[len(prompt) :]
# +     tokens += [*drafted[:num_accepted], token]
# +     if eos in [*drafted[:num_accepted], token]:
# +         break

# %% eos_left_out fails a2.q6.ends
# You leave eos out of the result; it is the last generated token.
right_loop = speculative


def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    tokens = right_loop(target, draft, prompt, max_tokens, gamma, noise, eos)
    return tokens[:-1] if eos is not None and tokens[-1:] == [eos] else tokens


# %% eos_not_when_corrected fails a2.q6.ends in speculative
# You look for eos among the accepted drafts only; the token behind them may be it too.
# -     for emitted in [*drafted[:num_accepted], token]:
# -         tokens.append(emitted)
# -         if emitted == eos:
# -             return tokens[len(prompt) :]
# +     for emitted in drafted[:num_accepted]:
# +         tokens.append(emitted)
# +         if emitted == eos:
# +             return tokens[len(prompt) :]
# +     tokens.append(token)

# %% eos_zero_is_false fails a2.q6.ends
# You test `if eos`: token 0 counts as no eos at all. Test `if eos is not None`.
right_loop = speculative


def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    return right_loop(target, draft, prompt, max_tokens, gamma, noise, eos if eos else None)


# %% loop_at_least_one fails a2.q6.ends
# With max_tokens = 0 you still generate.
right_loop = speculative


def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    return right_loop(target, draft, prompt, max(1, max_tokens), gamma, noise, eos)


# %% loop_counts_steps fails a2.q6.ends in speculative
# Your max_tokens counts steps; a step emits one token or several.
# - end = len(prompt) + max_tokens
# - while len(tokens) < end:
# -     drafted, draft_probs = propose(draft, tokens, min(gamma, end - len(tokens) - 1), noise)
# + for _ in range(max_tokens):
# +     drafted, draft_probs = propose(draft, tokens, gamma, noise)

# %% loop_counts_the_prompt fails a2.q6.ends
# Your max_tokens counts the prompt; it counts generated tokens.
right_loop = speculative


def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    return right_loop(target, draft, prompt, max(0, max_tokens - len(prompt)), gamma, noise, eos)


# %% loop_drafts_again fails a2.q6.law
# Where the first draft is rejected you throw the step away and draft again: that favours what the draft likes. Keep the replacement.
def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    tokens, end, again = list(prompt), len(prompt) + max_tokens, False
    while len(tokens) < end:
        drafted, draft_probs = propose(draft, tokens, min(gamma, end - len(tokens) - 1), noise)
        pending = tokens[target.length() :]
        target_probs = target.score(pending + drafted)[len(pending) - 1 :]
        num_accepted, token = verify(drafted, draft_probs, target_probs, noise)
        again = bool(drafted) and num_accepted == 0 and not again
        for emitted in [] if again else [*drafted[:num_accepted], token]:
            tokens.append(emitted)
            if emitted == eos:
                return tokens[len(prompt) :]
        target.rollback(len(tokens) - 1)
        draft.rollback(len(tokens) - 1)
    return tokens[len(prompt) :]


# %% loop_drops_the_first fails a2.q6.ends
# The first generated token is missing from your result.
right_loop = speculative


def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    return right_loop(target, draft, prompt, max_tokens + 1, gamma, noise, eos)[1:]


# %% loop_greedy fails a2.q6.law in speculative
# You draft greedily and verify against the soft row of the draft: q is then not what the drafts were drawn from.
# -     drafted, draft_probs = propose(draft, tokens, min(gamma, end - len(tokens) - 1), noise)
# -     pending = tokens[target.length() :]
# -     target_probs = target.score(pending + drafted)[len(pending) - 1 :]
# -     num_accepted, token = verify(drafted, draft_probs, target_probs, noise)
# +     drafted, rows = [], []
# +     for _ in range(min(gamma, end - len(tokens) - 1)):
# +         rows.append(draft.score([*tokens, *drafted][draft.length() :])[-1])
# +         drafted.append(int(np.argmax(rows[-1])))
# +     pending = tokens[target.length() :]
# +     target_probs = target.score(pending + drafted)[len(pending) - 1 :]
# +     num_accepted, token = verify(drafted, rows, target_probs, noise)

# %% loop_last_token_fed_twice fails a2.q6.law
# The last token of the prompt is fed twice: either the prefill leaves it out, or the first step does not feed it
# again.
right_loop = speculative


class Doubling:
    def __init__(self, session, prompt):
        self.score, self.rollback = session.score, lambda length: session.rollback(length + 1)
        self.length = lambda: max(0, session.length() - 1)
        session.score(prompt)


def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    if max_tokens == 0:
        return []
    return right_loop(Doubling(target, prompt), draft, prompt, max_tokens, gamma, noise, eos)


# %% loop_overshoots fails a2.q6.ends in speculative
# You return more than max_tokens tokens: the last step may emit up to gamma too many.
# - end = len(prompt) + max_tokens
# - while len(tokens) < end:
# -     drafted, draft_probs = propose(draft, tokens, min(gamma, end - len(tokens) - 1), noise)
# + while len(tokens) < len(prompt) + max_tokens:
# +     drafted, draft_probs = propose(draft, tokens, gamma, noise)

# %% loop_rows_from_the_start fails a2.q6.law in speculative
# You take the first rows of the target's forward; where the prompt was fed with the draft, the draft's rows are the
# last gamma + 1.
# -     target_probs = target.score(pending + drafted)[len(pending) - 1 :]
# +     target_probs = target.score(pending + drafted)[: len(drafted) + 1]

# %% loop_rows_one_too_late fails a2.q6.law in speculative
# Your target rows begin one too late: the row of the first draft is the one after the last token before it.
# -     target_probs = target.score(pending + drafted)[len(pending) - 1 :]
# +     rows = target.score(pending + drafted)[len(pending) - 1 :]
# +     target_probs = np.concatenate([rows[1:], rows[-1:]])

# %% loop_stops_a_draft_by_its_token fails a2.q6.law in speculative
# You throw away a drafted token because of which token it is, before it was judged: that biases the text. Decide to
# stop before drawing.
# -     drafted, draft_probs = propose(draft, tokens, min(gamma, end - len(tokens) - 1), noise)
# +     drafted, draft_probs = propose(draft, tokens, min(gamma, end - len(tokens) - 1), noise)
# +     sure = [row[token] >= 0.5 for row, token in zip(draft_probs, drafted)]
# +     drafted = drafted[: sure.index(False) if False in sure else len(sure)]


# %% loop_target_keeps_one_too_many fails a2.q6.law
# You roll the target's cache back to one token too many: after a rejection its last one is the rejected draft.
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


# %% loop_target_not_rolled_back fails a2.q6.law
# The target's cache keeps the rejected drafts: roll it back to all tokens of the text but the last.
def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    tokens = list(prompt)
    end = len(prompt) + max_tokens
    fed = 0
    while len(tokens) < end:
        drafted, draft_probs = propose(draft, tokens, min(gamma, end - len(tokens) - 1), noise)
        pending = tokens[fed:]
        target_probs = target.score(pending + drafted)[len(pending) - 1 :]
        num_accepted, token = verify(drafted, draft_probs, target_probs, noise)
        fed = len(tokens) + num_accepted
        for emitted in [*drafted[:num_accepted], token]:
            tokens.append(emitted)
            if emitted == eos:
                return tokens[len(prompt) :]
        draft.rollback(len(tokens) - 1)
    return tokens[len(prompt) :]


# %% loop_with_the_prompt fails a2.q6.ends
# You return the prompt too; only the generated tokens are wanted.
right_loop = speculative


def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    return [*prompt, *right_loop(target, draft, prompt, max_tokens, gamma, noise, eos)]


# %% propose_all_from_one_row fails a2.q5.law
# All your drafts come from one row; each needs the distribution after the draft before it.
def propose(draft, tokens, gamma, noise):
    if gamma == 0:
        return [], np.zeros((0, 0))
    row = draft.score(tokens[draft.length() :])[-1]
    return [noise.categorical(row) for _ in range(gamma)], np.array([row] * gamma)


# %% propose_argmax fails a2.q5.law in propose
# You draft the likeliest token but report the soft row; then q is not what the token was drawn from.
# -     drafted.append(noise.categorical(rows[-1]))
# +     drafted.append(int(np.argmax(rows[-1])))

# %% propose_double_softmax fails a2.q5.law in propose
# You pass probabilities through a softmax again: score already returns distributions.
# -     rows.append(draft.score(text[draft.length() :])[-1])
# +     weights = np.exp(draft.score(text[draft.length() :])[-1])
# +     rows.append(weights / weights.sum())

# %% propose_feeds_everything_on_top fails a2.q5.law in propose
# You feed the whole text on top of what the cache already holds; feed only what it lacks.
# -     text = [*tokens, *drafted]
# -     rows.append(draft.score(text[draft.length() :])[-1])
# +     rows.append(draft.score([*tokens, *drafted])[-1])


# %% propose_feeds_for_nothing fails a2.q5.cost
# With gamma = 0 you still run the draft model.
def propose(draft, tokens, gamma, noise):
    drafted, rows = [], []
    row = draft.score(tokens[draft.length() :])[-1]
    for i in range(gamma):
        rows.append(row)
        drafted.append(noise.categorical(row))
        if i < gamma - 1:
            row = draft.score(drafted[-1:])[-1]
    return drafted, np.array(rows)


# %% propose_feeds_one_by_one fails a2.q5.cost in propose
# You feed what the cache lacks one token at a time; one forward takes them all.
# -     text = [*tokens, *drafted]
# -     rows.append(draft.score(text[draft.length() :])[-1])
# -     drafted.append(noise.categorical(rows[-1]))
# +     for token in [*tokens, *drafted][draft.length() :]:
# +         row = draft.score([token])[-1]
# +     rows.append(row)
# +     drafted.append(noise.categorical(row))

# %% propose_feeds_the_last_token_only fails a2.q5.law in propose
# You feed only the last token; the cache may lack two (after a full acceptance it does) or the whole prompt.
# -     text = [*tokens, *drafted]
# -     rows.append(draft.score(text[draft.length() :])[-1])
# +     rows.append(draft.score([*tokens, *drafted][-1:])[-1])

# %% propose_from_the_first_row fails a2.q5.law in propose
# You read the first row of a feed; where several tokens are fed, the next token follows the last row.
# -     rows.append(draft.score(text[draft.length() :])[-1])
# +     rows.append(draft.score(text[draft.length() :])[0])

# %% propose_one_forward_too_many fails a2.q5.cost in propose
# You feed the last draft too, a forward nobody needs: gamma tokens take gamma forwards.
# -     drafted.append(noise.categorical(rows[-1]))
# +     drafted.append(noise.categorical(rows[-1]))
# + if drafted:
# +     draft.score(drafted[-1:])

# %% propose_reports_one_hot fails a2.q5.law in propose
# You report one-hot rows; report the distribution each token was drawn from.
# -     rows.append(draft.score(text[draft.length() :])[-1])
# -     drafted.append(noise.categorical(rows[-1]))
# +     row = draft.score(text[draft.length() :])[-1]
# +     drafted.append(noise.categorical(row))
# +     rows.append(np.eye(len(row))[drafted[-1]])


# %% propose_rows_of_the_next fails a2.q5.law
# With each draft you return the row behind it; return the row it was drawn from.
def propose(draft, tokens, gamma, noise):
    if not gamma:
        return [], np.zeros((0, 1))
    row, drafted, rows = draft.score(tokens[draft.length() :])[-1], [], []
    for _ in range(gamma):
        drafted.append(noise.categorical(row))
        row = draft.score(drafted[-1:])[-1]
        rows.append(row)
    return drafted, np.array(rows)


# %% propose_sharpened fails a2.q5.law in propose
# You draw from a sharpened row (a lower temperature) but report the unsharpened one.
# -     drafted.append(noise.categorical(rows[-1]))
# +     drafted.append(noise.categorical(rows[-1] ** 2 / (rows[-1] ** 2).sum()))

# %% propose_starts_over fails a2.q5.cost in propose
# You empty the cache and feed the whole text again: the right rows at the cost the cache is there to save.
# -     text = [*tokens, *drafted]
# -     rows.append(draft.score(text[draft.length() :])[-1])
# +     draft.rollback(0)
# +     rows.append(draft.score([*tokens, *drafted])[-1])


# %% residual_absolute fails a2.q2.residual
# You take |p - q|; where q is larger there is nothing left to draw: max(p - q, 0).
def residual(p, q):
    positive = np.abs(p - q)
    return positive / positive.sum() if positive.sum() > 0.0 else p


# %% residual_argmax fails a2.q2.residual
# You put everything on the token with the largest p - q; the residual is a distribution to draw from.
def residual(p, q):
    return np.eye(len(p))[np.argmax(p - q)] if (p > q).any() else p


# %% residual_by_excess_of_q fails a2.q2.residual
# You take p wherever p > q; the residual there is p - q.
def residual(p, q):
    positive = np.where(p > q, p, 0.0)
    return positive / positive.sum() if positive.sum() > 0.0 else p


# %% residual_divided_by_q fails a2.q2.residual
# You subtract q from p after dividing by it (p/q - 1); the residual is the difference itself.
def residual(p, q):
    with np.errstate(all="ignore"):
        positive = np.maximum(np.where(q > 0.0, p / q, 1e6) - 1.0, 0.0)
    return positive / positive.sum() if positive.sum() > 0.0 else p


# %% residual_divided_by_the_mass_of_p fails a2.q2.residual
# You divide by the target's probabilities of these tokens; divide by the sum of the differences.
def residual(p, q):
    larger = p > q
    return np.where(larger, p - q, 0.0) / p[larger].sum() if larger.any() else p


# %% residual_equal_is_nan fails a2.q2.equal
# Where p equals q you divide 0 by 0; return p then.
def residual(p, q):
    with np.errstate(all="ignore"):
        return np.maximum(p - q, 0.0) / np.maximum(p - q, 0.0).sum()


# %% residual_equal_is_uniform fails a2.q2.equal in residual
# Where p equals q you return the uniform distribution; return p.
# - mass = positive.sum()
# - return positive / mass if mass > 0.0 else p
# + return positive / positive.sum() if positive.sum() > 0.0 else np.full(len(p), 1.0 / len(p))

# %% residual_equal_is_zero fails a2.q2.equal in residual
# Where p equals q your residual is all zeros, and nothing can be drawn from it; return p.
# - mass = positive.sum()
# - return positive / mass if mass > 0.0 else p
# + return positive / max(positive.sum(), 1e-12)

# %% residual_gives_up_early fails a2.q2.residual in residual
# Where p and q are close you return p; the residual is far from p there too. Only where nothing is positive, return
# p.
# - return positive / mass if mass > 0.0 else p
# + return positive / mass if mass > 1e-3 else p


# %% residual_in_logits fails a2.q2.residual
# You subtract logarithms; the residual is the difference of probabilities.
def residual(p, q):
    if np.array_equal(p, q):
        return p
    with np.errstate(all="ignore"):
        weights = np.exp(np.nan_to_num(np.maximum(np.log(p) - np.log(q), 0.0), posinf=50.0))
    return weights / weights.sum()


# %% residual_is_p fails a2.q2.residual
# Your residual is p itself; what the draft has already given must be taken off: max(p - q, 0).
def residual(p, q):
    return p


# %% residual_leaks fails a2.q2.residual
# You add a small constant before normalising: tokens the target never emits become possible.
def residual(p, q):
    if np.array_equal(p, q):
        return p
    positive = np.maximum(p - q, 0.0) + 1e-6
    return positive / positive.sum()


# %% residual_not_normalised fails a2.q2.residual
# Your residual does not sum to 1: divide by its sum.
def residual(p, q):
    return np.maximum(p - q, 0.0) if (p > q).any() else p


# %% residual_softmax fails a2.q2.residual
# You normalise with a softmax; divide by the sum instead: a softmax gives every token some probability.
def residual(p, q):
    if np.array_equal(p, q):
        return p
    weights = np.exp(np.maximum(p - q, 0.0))
    return weights / weights.sum()


# %% residual_swapped fails a2.q2.residual
# You take max(q - p, 0): p and q are swapped.
def residual(p, q):
    positive = np.maximum(q - p, 0.0)
    return positive / positive.sum() if positive.sum() > 0.0 else p


# %% sample_a_coin_for_each fails a2.q3.law
# You toss a new coin for each token with its probability; tokens before it have used some of that up. Add the probabilities up and compare one uniform with the sums.
def sample(probs, uniforms):
    tossed = np.flatnonzero(uniforms < probs)
    return int(tossed[0]) if len(tossed) else int(np.argmax(probs))


# %% sample_argmax fails a2.q3.law
# You return the likeliest token every time; draw one.
def sample(probs, uniforms):
    return int(np.argmax(probs))


# %% sample_first_at_zero fails a2.q3.impossible
# At u = 0 you draw token 0 even if its probability is 0: take the first token whose cumulative sum is greater than u.
def sample(probs, uniforms):
    return min(int(np.searchsorted(np.cumsum(probs), uniforms[0], side="left")), int(np.flatnonzero(probs)[-1]))


# %% sample_gumbel_on_probs fails a2.q3.law
# You add Gumbel noise to the probabilities; it belongs on their logarithms.
def sample(probs, uniforms):
    noise = -np.log(-np.log(np.clip(uniforms, 1e-300, 1 - 2**-53)))
    return int(np.argmax(np.where(probs > 0.0, probs + noise, -np.inf)))


# %% sample_next_id fails a2.q3.law
# You return the id after the right one: the number of cumulative sums that u has passed is already the token.
def sample(probs, uniforms):
    return int(min((np.cumsum(probs) <= uniforms[0]).sum() + 1, len(probs) - 1))


# %% sample_next_token fails a2.q3.law in sample
# You return the token after the right one: count the tokens whose cumulative sum u has passed, without adding 1.
# - below[np.flatnonzero(probs)[-1]] = True  # the sum may round to a little less than 1
# - return int(np.argmax(below))
# + below[np.flatnonzero(probs)[-1]] = True
# + return int(np.flatnonzero(probs)[(np.argmax(below) + 1) % len(np.flatnonzero(probs))])


# %% sample_past_the_sum fails a2.q3.impossible
# Where the sum of probs rounds to less than 1, a large u falls behind it and you draw an impossible token.
def sample(probs, uniforms):
    return min(int(np.searchsorted(np.cumsum(probs), uniforms[0], side="right")), len(probs) - 1)


# %% sample_race_multiplied fails a2.q3.law
# In an exponential race times are divided by the probabilities, and the earliest wins: likelier tokens arrive earlier.
def sample(probs, uniforms):
    times = np.where(probs > 0.0, -np.log1p(-uniforms) * probs, np.inf)
    return int(np.argmin(times))


# %% sample_uniform fails a2.q3.law
# Your tokens are equally likely, whatever probs says.
def sample(probs, uniforms):
    support = np.flatnonzero(probs)
    return int(support[int(uniforms[0] * len(support))])


# %% verify_accepts_all fails a2.q4.one
# You accept every draft.
def verify(draft_tokens, draft_probs, target_probs, noise):
    return len(draft_tokens), noise.categorical(target_probs[len(draft_tokens)])


# %% verify_argmax_of_residual fails a2.q4.one in verify
# After a rejection you take the residual's likeliest token; draw from it.
# -         return i, noise.categorical(residual(target_probs[i], draft_probs[i]))
# +         return i, int(np.argmax(residual(target_probs[i], draft_probs[i])))


# %% verify_by_argmax fails a2.q4.one
# You compare the draft with the target's likeliest token: that is the rule for temperature 0 only.
def verify(draft_tokens, draft_probs, target_probs, noise):
    for i, token in enumerate(draft_tokens):
        if token != np.argmax(target_probs[i]):
            return i, int(np.argmax(target_probs[i]))
    return len(draft_tokens), int(np.argmax(target_probs[len(draft_tokens)]))


# %% verify_by_matching fails a2.q4.one in verify
# You draw from the target and accept if the draft matches: that keeps the law, but accepts with probability p instead
# of min(1, p/q).
# -     if not noise.bernoulli(min(1.0, target_probs[i][token] / draft_probs[i][token])):
# -         return i, noise.categorical(residual(target_probs[i], draft_probs[i]))
# +     drawn = noise.categorical(target_probs[i])
# +     if drawn != token:
# +         return i, drawn

# %% verify_by_p fails a2.q4.one in verify
# You accept with probability p instead of p/q.
# -     if not noise.bernoulli(min(1.0, target_probs[i][token] / draft_probs[i][token])):
# +     if not noise.bernoulli(target_probs[i][token]):


# %% verify_counts_all_accepted fails a2.q4.prefix
# You count all drafts whose coin came up; those behind the first rejection are gone, whatever their coins say.
def verify(draft_tokens, draft_probs, target_probs, noise):
    coins = [
        noise.bernoulli(min(1.0, target_probs[i][token] / draft_probs[i][token]))
        for i, token in enumerate(draft_tokens)
    ]
    accepted = sum(coins)
    if accepted == len(coins):
        return accepted, noise.categorical(target_probs[accepted])
    return accepted, noise.categorical(residual(target_probs[accepted], draft_probs[accepted]))


# %% verify_counts_the_rejected fails a2.q4.one in verify
# Your number of accepted drafts counts the rejected one too.
# -         return i, noise.categorical(residual(target_probs[i], draft_probs[i]))
# +         return i + 1, noise.categorical(residual(target_probs[i], draft_probs[i]))

# %% verify_first_is_free fails a2.q4.one in verify
# The first draft is never judged: it is a guess like the others.
# -     if not noise.bernoulli(min(1.0, target_probs[i][token] / draft_probs[i][token])):
# +     if i > 0 and not noise.bernoulli(min(1.0, target_probs[i][token] / draft_probs[i][token])):


# %% verify_goes_on fails a2.q4.prefix
# You go on after a rejection: the drafts behind it continue a text that no longer exists. Stop at the first one.
def verify(draft_tokens, draft_probs, target_probs, noise):
    accepted = [
        noise.bernoulli(min(1.0, target_probs[i][token] / draft_probs[i][token]))
        for i, token in enumerate(draft_tokens)
    ]
    if all(accepted):
        return len(accepted), noise.categorical(target_probs[-1])
    place = accepted.index(False)
    return sum(accepted), noise.categorical(residual(target_probs[place], draft_probs[place]))


# %% verify_inverted fails a2.q4.one in verify
# Your acceptance probability is q/p; it must be p/q.
# -     if not noise.bernoulli(min(1.0, target_probs[i][token] / draft_probs[i][token])):
# +     if not noise.bernoulli(min(1.0, draft_probs[i][token] / target_probs[i][token])):

# %% verify_last_draft_row_for_all fails a2.q4.prefix in verify
# You use the last row of draft_probs for every draft; row i belongs to draft i.
# -     if not noise.bernoulli(min(1.0, target_probs[i][token] / draft_probs[i][token])):
# -         return i, noise.categorical(residual(target_probs[i], draft_probs[i]))
# +     if not noise.bernoulli(min(1.0, target_probs[i][token] / draft_probs[-1][token])):
# +         return i, noise.categorical(residual(target_probs[i], draft_probs[-1]))


# %% verify_last_rejection fails a2.q4.prefix
# You stop at the last rejection; everything behind the first one is void.
def verify(draft_tokens, draft_probs, target_probs, noise):
    place = len(draft_tokens)
    for i, token in enumerate(draft_tokens):
        if not noise.bernoulli(min(1.0, target_probs[i][token] / draft_probs[i][token])):
            place = i
    if place == len(draft_tokens):
        return place, noise.categorical(target_probs[place])
    return place, noise.categorical(residual(target_probs[place], draft_probs[place]))


# %% verify_next_rows fails a2.q4.prefix in verify
# Draft i is judged by the target's row i + 1; row i is the one at its own place.
# -     if not noise.bernoulli(min(1.0, target_probs[i][token] / draft_probs[i][token])):
# -         return i, noise.categorical(residual(target_probs[i], draft_probs[i]))
# +     if not noise.bernoulli(min(1.0, target_probs[i + 1][token] / draft_probs[i][token])):
# +         return i, noise.categorical(residual(target_probs[i + 1], draft_probs[i]))


# %% verify_one_coin fails a2.q4.prefix
# You toss one coin for the whole draft; every token has a coin of its own.
def verify(draft_tokens, draft_probs, target_probs, noise):
    ratio = 1.0
    for i, token in enumerate(draft_tokens):
        ratio = min(ratio, target_probs[i][token] / draft_probs[i][token])
    if draft_tokens and not noise.bernoulli(ratio):
        return 0, noise.categorical(residual(target_probs[0], draft_probs[0]))
    return len(draft_tokens), noise.categorical(target_probs[len(draft_tokens)])


# %% verify_replaces_from_p fails a2.q4.one in verify
# After a rejection you draw from p; draw from the residual, or tokens the draft favours come too often.
# -         return i, noise.categorical(residual(target_probs[i], draft_probs[i]))
# +         return i, noise.categorical(target_probs[i])

# %% verify_residual_of_the_first_row fails a2.q4.prefix in verify
# Your residual always comes from row 0; take the row of the rejected draft.
# -         return i, noise.categorical(residual(target_probs[i], draft_probs[i]))
# +         return i, noise.categorical(residual(target_probs[0], draft_probs[0]))

# %% verify_residual_of_the_next_row fails a2.q4.prefix in verify
# Your residual is taken from the row behind the rejected draft; take the row that rejected it.
# -         return i, noise.categorical(residual(target_probs[i], draft_probs[i]))
# +         return i, noise.categorical(residual(target_probs[i + 1], draft_probs[i]))

# %% verify_returns_the_rejected fails a2.q4.one in verify
# After a rejection you return the rejected token itself; return a token drawn from the residual.
# -         return i, noise.categorical(residual(target_probs[i], draft_probs[i]))
# +         return i, token

# %% verify_without_coin fails a2.q4.one in verify
# You accept exactly if p >= q: a draft with p < q must be accepted with probability p/q.
# -     if not noise.bernoulli(min(1.0, target_probs[i][token] / draft_probs[i][token])):
# +     if target_probs[i][token] < draft_probs[i][token]:


# %% accept_rounded_ratio fails a2.q1.accept
# You round the ratio; compare u with p / q as it is.
def accept(p, q, token, u):
    return bool(u < round(p[token] / q[token], 2))


# %% accept_guarded_ratio fails a2.q1.accept
# You add a small constant to q: it is never 0 where a token was drawn from it, and the ratio is wrong where q is small.
def accept(p, q, token, u):
    return bool(u < p[token] / (q[token] + 1e-6))


# %% residual_squared fails a2.q2.residual in residual
# You square what p has more than q: the difference itself is the weight.
# - positive = np.maximum(p - q, 0.0)
# + positive = np.maximum(p - q, 0.0) ** 2

# %% residual_where_drafted fails a2.q2.residual in residual
# You keep only tokens that the draft can propose; what only the target has is in the residual too.
# - positive = np.maximum(p - q, 0.0)
# + positive = np.maximum(p - q, 0.0) * (q > 0)


# %% sample_ignores_the_uniforms fails a2.q3.law
# You draw with a generator of your own: with the same uniforms the same token must come.
def sample(probs, uniforms):
    import random

    return random.choices(range(len(probs)), weights=probs.tolist())[0]


# %% sample_in_float32 fails a2.q3.impossible
# You add the probabilities up in float32: their sum is less than a large u, and you draw an impossible token.
def sample(probs, uniforms):
    below = np.cumsum(probs.astype(np.float32), dtype=np.float32) > np.float32(uniforms[0])
    return int(np.argmax(below)) if below.any() else len(probs) - 1


# %% sample_not_conditioned fails a2.q3.law
# You go from token to token, and toss with p; those before it did not come: divide by what is left.
def sample(probs, uniforms):
    for token in np.flatnonzero(probs)[:-1]:
        if uniforms[token] < probs[token]:
            return int(token)
    return int(np.flatnonzero(probs)[-1])


# %% verify_products_of_ratios fails a2.q4.prefix
# You multiply the ratios of all drafts so far; each draft is accepted by its own ratio.
def verify(draft_tokens, draft_probs, target_probs, noise):
    product = 1.0
    for i, token in enumerate(draft_tokens):
        product = min(1.0, product * target_probs[i][token] / draft_probs[i][token])
        if not noise.bernoulli(product):
            return i, noise.categorical(residual(target_probs[i], draft_probs[i]))
    return len(draft_tokens), noise.categorical(target_probs[len(draft_tokens)])


# %% verify_bars_the_rejected fails a2.q4.one in verify
# After a rejection you draw from p without the rejected token; the residual takes off what the draft gives of every token.
# -         return i, noise.categorical(residual(target_probs[i], draft_probs[i]))
# +         left = np.where(np.arange(len(target_probs[i])) == token, 0.0, target_probs[i])
# +         return i, noise.categorical(left / left.sum())

# %% verify_second_coin fails a2.q4.one in verify
# You toss a second coin for a draft that was rejected: one coin decides.
# -     if not noise.bernoulli(min(1.0, target_probs[i][token] / draft_probs[i][token])):
# +     ratio = min(1.0, target_probs[i][token] / draft_probs[i][token])
# +     if not noise.bernoulli(ratio) and not noise.bernoulli(ratio):

# %% bonus_from_the_mean_row fails a2.q4.bonus in verify
# You draw the bonus from the mean of the target's rows; it comes from the last one.
# - return len(draft_tokens), noise.categorical(target_probs[len(draft_tokens)])
# + return len(draft_tokens), noise.categorical(np.mean(target_probs, axis=0))
