"""The ``explain`` command: why a function of the user's file is not pure.

``command.py`` has its arguments and the run, and ``target.py`` finds the function, and evaluates
the arguments to call it with.
"""
