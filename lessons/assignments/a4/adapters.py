"""For solutions with another structure: a function defined here is called instead of the one in `a4.py`.

Leave this file as it is if you filled in the starter. Otherwise import your own code and keep the names and arguments
of the handout, for example::

    from mystream import Stops

    def cut(text, stops):
        return Stops(stops).cut(text)
"""
