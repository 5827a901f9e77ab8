"""Figures for the commands, the documents and the lessons; :mod:`.style` is the one door to matplotlib."""
