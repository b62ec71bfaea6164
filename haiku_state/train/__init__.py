"""The ``train`` command: real data, whole epochs, a table, a plot."""

from haiku_state.train.loop import train as train
from haiku_state.train.report import Epoch as Epoch
from haiku_state.train.report import print_table as print_table
from haiku_state.train.report import save_plot as save_plot
from haiku_state.train.tasks import TASKS as TASKS
from haiku_state.train.ways import MANY_PROCESSES as MANY_PROCESSES
from haiku_state.train.ways import ONE_DEVICE as ONE_DEVICE
from haiku_state.train.ways import WAYS as WAYS
