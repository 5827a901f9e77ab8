"""Us and the other engines, on the same weights, side by side: ``python -m tests.benchmarks.peers --help``.

Each contender runs in a process of its own (thread pools of several libraries in one process spin against each other)
and works only when it is its turn. The turns go round and round, a bandwidth probe of the same footprint among them:
on a shared machine the read bandwidth itself moves by half from minute to minute, so a figure means nothing without
what stood beside it.
"""
