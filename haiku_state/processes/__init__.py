"""Many machines: processes that train as one."""

from haiku_state.processes.part import global_batch as global_batch
from haiku_state.processes.part import is_main_process as is_main_process
from haiku_state.processes.part import process_part as process_part
from haiku_state.processes.start import start_processes as start_processes
from haiku_state.processes.watch import ProcessWatch as ProcessWatch
from haiku_state.processes.watch import end_processes as end_processes
from haiku_state.processes.watch import watch_processes as watch_processes
from haiku_state.processes.watch import watch_sigterm as watch_sigterm
