"""The ``train`` command: real data, whole epochs, a table, a plot.

``command.py`` has its arguments, ``models.py`` the models with their data and optimizers,
``loop.py`` the runners and the training itself, and ``report.py`` what is shown.
"""

from haiku_state.commands.train.loop import UPDATES as UPDATES
from haiku_state.commands.train.loop import train as train
from haiku_state.commands.train.models import TASKS as TASKS
