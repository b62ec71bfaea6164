"""The process in which a learner's code runs, and the one that starts it and stops it.

Nothing is imported here, and little in ``process``: it has to come before everything else.
"""
