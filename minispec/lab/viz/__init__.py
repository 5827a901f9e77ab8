"""Pictures of runs, made from records, events and results only: the one place of colours, CSS and markup.

:mod:`.colours` and :mod:`.html` are words that anything may use, results included; the rest looks at finished work.
"""
