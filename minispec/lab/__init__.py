"""Wing 2, the lab: what is measured, predicted, claimed, trained and drawn.

Begin with ``timer.py`` and ``trust.py``: how a figure is taken, and when it may be believed. Then the rooms:

    measure    prompts decoded in every way, in turns: a sweep, its records, their summary and report
    roofline   what a forward must at least take on a machine, counted and measured
    bench      every cost of the theory on this machine, and what speculation gains, alone and in batches
    explain    what a step costs, where the time went (why), how long to draft (plan), where two runs part ways
    ledger     claims about speculative decoding, each with a rule that judges it
    training   the recipe of the bundled weights
    viz        plots, films and what a terminal shows

It may import ``minispec.engine`` and ``minispec.theory``; the engine never imports it.
"""
