"""The recipe of the bundled weights: from plain text to model folders (needs ``pip install '.[train]'``).

Read it in the order it runs::

    corpus        text files -> cleaned documents, with checksums
    python_files  the standard library and some packages -> source files -> small functions with one-line docstrings
    sums          a seed -> word problems that are right by construction
    mixture       all of these -> nine texts to learn from, three to be measured on
    tokenize      documents -> one byte-level BPE tokenizer
    data          documents -> packed tokens; batch(seed, step)
    model         a small GPT-2 in PyTorch, parameters named as Hugging Face names them; another vocabulary for it
    recipe        shapes and hyperparameters of the two presets, ``cpu`` and ``gpu``
    checkpoint    what a stopped run leaves behind (safetensors and JSON)
    trainer       the loop: batches, steps, the learning rate, a teacher's distributions, validation, checkpoints
    export        a model folder Hugging Face and minispec both load
    text_checks   how plain a text is; real words, loops, repetition, answers, code that parses
    checks        what the target can do, with intervals, against its bars
    measure       alpha and acceptance length of the drafts
    report        all of it, and samples -> model cards

Of minispec only the experiments that train drafts import this package: it is for whoever makes weights.
"""
