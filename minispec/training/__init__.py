"""The recipe of the bundled weights: from plain text to model folders (needs ``pip install '.[train]'``).

Read it in the order it runs::

    corpus      text files -> cleaned documents, with checksums
    tokenize    documents  -> one byte-level BPE tokenizer
    data        documents  -> packed tokens; batch(seed, step)
    model       a small GPT-2 in PyTorch, parameters named as Hugging Face names them
    recipe      shapes and hyperparameters of the two presets, ``cpu`` and ``gpu``
    schedule    the learning rate, and how a run learns to end on time
    checkpoint  what a stopped run leaves behind (safetensors and JSON)
    trainer     the loop: batches, steps, validation, checkpoints
    distill     the drafts learn the target's distributions
    export      a model folder Hugging Face and minispec both load
    report      perplexity, alpha, acceptance length, samples -> model cards

Nothing in minispec imports this package: it is for whoever makes weights.
"""
