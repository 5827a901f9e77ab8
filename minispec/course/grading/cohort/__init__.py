"""A whole class: what its marks look like, what went wrong most, who handed in whose code, what the platforms import.

Everything here is made of finished reports and of the submissions' text; nothing a submission holds is run.
"""
