"""Cutting by slices; room by three bounds."""


def num_drafts(gamma, num_generated, max_tokens, num_prompt, n_positions):
    bounds = (gamma, max_tokens - num_generated - 1, n_positions - num_prompt - num_generated - 1, 0)
    return max(bounds[3], min(bounds[:3]))


def commit(block, num_generated, max_tokens, eos):
    within = list(block)[: max_tokens - num_generated]
    places = [i for i, token in enumerate(within) if token in eos]
    if places:
        return within[: places[0] + 1], "eos"
    return within, ("length" if len(within) + num_generated == max_tokens else None)
