"""Wing 1, the engine: everything between a prompt and its text.

Here: backends, model, loading, tokenizer, sampling, noise, drafters, verifiers, control, generation, batching, laws,
export. It may import ``minispec.theory``, ``minispec.errors`` and nothing above it. Begin with ``generation/loop.py``,
the loop of speculative decoding; ``docs/reading.md`` leads on from there.
"""
