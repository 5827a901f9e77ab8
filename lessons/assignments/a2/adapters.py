"""For solutions with another structure: a function defined here is called instead of the one in `a2.py`.

Leave this file as it is if you filled in the starter. Otherwise import your own code and keep the names and arguments
of the handout, for example::

    from myrules import judge

    def verify(draft_tokens, draft_probs, target_probs, noise):
        result = judge(draft_tokens, draft_probs, target_probs, noise)
        return result.accepted, result.token
"""
