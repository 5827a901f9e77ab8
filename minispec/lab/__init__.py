"""Wing 2, the lab: what is measured, predicted, claimed, trained and drawn.

Here: measure, bench, roofline, plan and why, the ledger of claims, training, and viz with its plots and films.
It may import ``minispec.engine`` and ``minispec.theory``; the engine never imports it.
Begin with ``timer.py`` and ``trust.py``: how a figure is taken, and when it may be believed.
"""
