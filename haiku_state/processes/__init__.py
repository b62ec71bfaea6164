"""Many machines: processes that train as one."""

import haiku_state.compat as _compat  # noqa: F401  # names versions that do not match
from haiku_state.processes.part import is_main_process as is_main_process
from haiku_state.processes.part import process_part as process_part
from haiku_state.processes.start import start_processes as start_processes
from haiku_state.processes.watch import ProcessWatch as ProcessWatch
from haiku_state.processes.watch import end_processes as end_processes
from haiku_state.processes.watch import watch_processes as watch_processes
from haiku_state.processes.watch import watch_sigterm as watch_sigterm
from haiku_state.update.mesh import global_batch as global_batch
