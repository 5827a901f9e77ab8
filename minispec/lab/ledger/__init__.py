"""The claims ledger: what is said about speculative decoding, restated, computed, measured and judged.

Begin with a module of :mod:`minispec.lab.ledger.claims`: each is one claim, its measurement, the rule of its verdict
and its picture. :mod:`.framework` says what they have in common, :mod:`.verdicts` how figures become a word. They
measure with :mod:`.runs` (the pair, the prompts, decoding), :mod:`.instruments` (counts and times), :mod:`.contests`
(drafts against one another), :mod:`.batches` and :mod:`.small_drafts` (drafts trained for a claim). :mod:`.ledger`
keeps the results and writes ``docs/claims.md``.
"""
