"""The claims ledger: what is said about speculative decoding, restated, computed, measured and judged.

One file of :mod:`minispec.experiments.claims` is one claim. :mod:`.framework` says what an experiment is,
:mod:`.verdicts` how a verdict follows from figures, :mod:`.ledger` keeps the results and writes ``docs/claims.md``.
"""
