"""The ``train`` command: real data, whole epochs, a table, a plot.

``command.py`` has its arguments, ``models.py`` the models with their data and optimizers,
``ways.py`` the runners of the update step, ``loop.py`` the training itself, and ``report.py``
what is shown.
"""

from haiku_state.commands.train.loop import train as train
from haiku_state.commands.train.models import TASKS as TASKS
from haiku_state.commands.train.ways import WAYS as WAYS
