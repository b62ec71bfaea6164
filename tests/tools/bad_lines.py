"""Bad command lines and bad environments, and how each one ends.

python tests/tools bad_lines

prints them as a table. ``tests/commands/test_bad_lines.py`` holds every row to what stands here:
the exit code, one sentence on stderr, and no traceback. A line is in the syntax of a shell;
``FOLDER`` is an empty folder but for a file ``file``, two folders and the FILES. Of the LINES, the
words follow ``haiku-state``, and they run in this process; each of SHELL runs in a fresh one.
"""

import contextlib
import io
import os
import re
import shlex
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from support.user import User


class Row(NamedTuple):
    """One line, and how it ends."""

    line: str
    code: int
    says: str
    """A regular expression that the only line on stderr has; empty where nothing is said."""


LONG = "n" * 300
MEET = "--coordinator localhost:1234 --num-processes 2"

FILES = {
    "model.py": """\
import sys
import haiku as hk
size = 3
def double(x): return 2 * x
def leaves(): sys.exit(0)
class Net(hk.Module):
    def __call__(self, x): return x
class Counter:
    def count(self, x): return x
    @property
    def broken(self): return {}["no"]
class Timer(Counter):
    def __init__(self, limit): self.rate = 1 / limit
counter = Counter()
if __name__ == "__main__":
    sys.exit("this file was run")
""",
    "raises.py": "limit = 0\nrate = 1 / limit\n",
    "syntax.py": "def double(:\n",
    "bytes.py": "# coding: nothing\n",
    "needs.py": "import no_such_library\n",
    "relative.py": "from . import model\n",
    "exits.py": "import sys\nsys.exit('bye')\n",
    "interrupts.py": "raise KeyboardInterrupt\n",
    "twice.py": """
import signal, sys
write = sys.stderr.write
sys.stderr.write = lambda text: (signal.raise_signal(signal.SIGINT), write(text))
signal.raise_signal(signal.SIGINT)
""",
}
"""What is in the folder, to be explained."""

INTERRUPTIBLE = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)  # a shell's background job ignores it
os.execvp("bash", ["bash", "-c", sys.argv[1]])
"""

LINES = [
    # commands and options
    Row("learn", 2, "invalid choice: 'learn'"),
    Row("Train", 2, "invalid choice: 'Train'"),
    Row("''", 2, "invalid choice: ''"),
    Row("doctor --loud", 2, "unrecognized arguments: --loud"),
    Row("doctor now", 2, "unrecognized arguments: now"),
    Row("train --speed 3", 2, "unrecognized arguments: --speed 3"),
    Row("train '--a\nb'", 2, "unrecognized arguments: --a b"),
    Row("train -x", 2, "unrecognized arguments: -x"),
    Row("train classifier", 2, "unrecognized arguments: classifier"),
    Row("train --checkpoint run", 2, "ambiguous option: --checkpoint could match"),
    Row("train --model", 2, "--model: expected one argument"),
    Row("train --model transformer", 2, "--model: invalid choice: 'transformer'"),
    Row("train --model Classifier", 2, "--model: invalid choice: 'Classifier'"),
    Row("train --model ''", 2, "--model: invalid choice: ''"),
    Row("train --model classifier regression", 2, "unrecognized arguments: regression"),
    Row("train --update", 2, "--update: expected one argument"),
    Row("train --update fast", 2, "--update: invalid choice: 'fast'"),
    Row("train --update vmap", 2, "--update: invalid choice: 'vmap'"),
    Row("train --update jit,scan", 2, "--update: invalid choice: 'jit,scan'"),
    # numbers
    Row("train --devices", 2, "--devices: expected one argument"),
    Row("train --devices 0", 2, "--devices: 0 is less than 1"),
    Row("train --devices -2", 2, "--devices: -2 is less than 1"),
    Row("train --devices 1.5", 2, "--devices: '1.5' is not a whole number"),
    Row("train --devices all", 2, "--devices: 'all' is not a whole number"),
    Row("train --devices ''", 2, "--devices: '' is not a whole number"),
    Row("train --epochs 0", 2, "--epochs: 0 is less than 1"),
    Row("train --epochs -3", 2, "--epochs: -3 is less than 1"),
    Row("train --epochs 1e3", 2, "--epochs: '1e3' is not a whole number"),
    Row("train --epochs=", 2, "--epochs: '' is not a whole number"),
    Row("train --batch-size 0", 2, "--batch-size: 0 is less than 1"),
    Row("train --batch-size -8", 2, "--batch-size: -8 is less than 1"),
    Row("train --batch-size 1.5", 2, "--batch-size: '1.5' is not a whole number"),
    Row("train --batch-size 1438", 2, "batch_size is 1438, but it must be 1, …, 1437"),
    Row(
        "train --model regression --batch-size 354",
        2,
        "batch_size is 354, but it must be 1, …, 353",
    ),
    Row("train --batch-size 99999999999999999999", 2, "but it must be 1, …, 1437"),
    Row("train --seed -1", 2, "--seed: -1 is less than 0"),
    Row("train --seed 0.5", 2, "--seed: '0.5' is not a whole number"),
    Row("train --seed zero", 2, "--seed: 'zero' is not a whole number"),
    Row("train --seed 4294967296", 2, "--seed: 4294967296 is more than 4294967295"),
    Row("train --checkpoint-every 0", 2, "--checkpoint-every: 0 is less than 1"),
    Row("train --checkpoint-every x", 2, "--checkpoint-every: 'x' is not a whole number"),
    Row("train --checkpoint-every 5", 2, "--checkpoint-every needs --checkpoint-dir DIR"),
    Row("train --timeout 0", 2, "--timeout: 0 is less than 1"),
    Row("train --timeout 0.5", 2, "--timeout: '0.5' is not a whole number"),
    Row("train --timeout never", 2, "--timeout: 'never' is not a whole number"),
    # devices
    Row("train --devices 4", 2, "--update jit runs on one device, not on 4; use --update shard"),
    Row("train --update scan --devices 2", 2, "--update scan runs on one device, not on 2"),
    Row("train --devices 10000", 2, "--devices: 10000 is more than 1024"),
    Row("train --update pmap --devices 16", 2, "16 devices were requested, but JAX has .* with 8"),
    Row("train --update shard --devices 9", 2, "9 devices were requested"),
    Row("train --update pmap --devices 1025", 2, "--devices: 1025 is more than 1024"),
    Row("train --update pmap --devices 10000", 2, "--devices: 10000 is more than 1024"),
    Row("train --update shard --devices 10000", 2, "--devices: 10000 is more than 1024"),
    Row("train --update shard_map --devices 10000", 2, "--devices: 10000 is more than 1024"),
    Row(
        "train --update pmap --devices 4 --batch-size 30",
        2,
        "30 rows cannot be divided equally among 4",
    ),
    Row(
        "train --update shard --devices 4 --batch-size 30",
        2,
        "30 rows cannot be divided equally among 4",
    ),
    Row("train --update shard_map --devices 3", 2, "32 rows cannot be divided equally among 3"),
    # processes
    Row("train --num-processes 0", 2, "--num-processes: 0 is less than 1"),
    Row("train --num-processes two", 2, "--num-processes: 'two' is not a whole number"),
    Row("train --process-id -1", 2, "--process-id: -1 is less than 0"),
    Row("train --process-id first", 2, "--process-id: 'first' is not a whole number"),
    Row("train --num-processes 2", 2, "--num-processes and --process-id need --coordinator"),
    Row("train --process-id 0", 2, "--num-processes and --process-id need --coordinator"),
    Row("train --update shard --coordinator", 2, "--coordinator: expected one argument"),
    Row(
        f"train {MEET} --process-id 0",
        2,
        "--update jit runs in one process; with several processes, use",
    ),
    Row(f"train --update pmap {MEET} --process-id 0", 2, "--update pmap runs in one process"),
    Row("train --checkpoint-dir gs://bucket/run", 2, "'gs://bucket/run' is not a folder"),
    Row("train --coordinator auto", 2, "--update jit runs in one process"),
    Row(
        "train --update shard --coordinator auto",
        2,
        "JAX could not get information about the processes",
    ),
    Row(
        "train --update shard --coordinator auto --num-processes 2 --process-id 0",
        2,
        "--num-processes and --process-id need --coordinator HOST:PORT",
    ),
    Row(
        "train --update shard --coordinator auto --process-id 0", 2, "need --coordinator HOST:PORT"
    ),
    Row(f"train --update shard {MEET} --process-id 2", 2, "process_id is 2, but it must be 0, …"),
    Row(f"train --update shard {MEET}", 2, "process_id is None, but it must be"),
    Row("train --update shard --coordinator a:1 --process-id 0", 2, "needs --num-processes and"),
    Row("train --update shard --coordinator a:1", 2, "needs --num-processes and --process-id"),
    *(
        Row(
            f"train --update shard --coordinator '{place}' --num-processes 2 --process-id 0",
            2,
            f"coordinator is '{re.escape(place)}', but it must be HOST:PORT",
        )
        for place in (
            "",
            "localhost",
            ":1234",
            "localhost:",
            "localhost:0",
            "localhost:70000",
            "a:b",
        )
    ),
    Row(
        f"train --update shard {MEET} --process-id 0 --timeout {10**20}", 2, "timeout is 1000000000"
    ),
    # files
    Row("train --checkpoint-dir", 2, "--checkpoint-dir: expected one argument"),
    Row("train --checkpoint-dir ''", 2, "--checkpoint-dir: '' is not a folder"),
    Row("train --checkpoint-dir FOLDER/file", 2, "--checkpoint-dir: '.*/file' is not a folder"),
    Row("train --checkpoint-dir FOLDER/file/run", 2, "--checkpoint-dir: '.*/run' is not a folder"),
    Row("train --plot", 2, "--plot: expected one argument"),
    Row("train --plot ''", 2, r"--plot: '' does not end in \.png, \.svg, \.pdf"),
    Row("train --plot curves", 2, r"--plot: 'curves' does not end in \.png"),
    Row("train --plot curves.txt", 2, r"--plot: 'curves\.txt' does not end in \.png"),
    Row("train --plot .png", 2, r"--plot: '\.png' does not end in \.png"),
    Row("train --plot FOLDER/no/curves.png", 2, "cannot be written: No such file or directory"),
    Row("train --plot FOLDER/folder.png", 2, "cannot be written: the path is a folder"),
    Row("train --plot FOLDER/file/curves.png", 2, "cannot be written: Not a directory"),
    Row("train --plot /proc/x.png", 2, "'/proc/x.png' cannot be written: No such file"),
    Row(f"train --plot FOLDER/{LONG}.png", 2, "cannot be written: File name too long"),
    # a function to explain
    Row("explain", 2, "the following arguments are required: FILE.py:FUNCTION"),
    Row("explain model.py", 2, r"'model\.py' does not have the form FILE\.py:FUNCTION"),
    Row("explain ''", 2, "'' does not have the form FILE.py:FUNCTION"),
    Row("explain model.py:", 2, r"'model\.py:' does not have the form FILE\.py:FUNCTION"),
    Row("explain :double", 2, "':double' does not have the form FILE.py:FUNCTION"),
    Row("explain 'model.py:double(1)'", 2, r"'double\(1\)' is not the name of .* with --args"),
    Row("explain model.py:.double", 2, r"'\.double' is not the name of a function"),
    Row("explain 'model.py:<lambda>'", 2, "'<lambda>' is not the name of a function"),
    Row("explain FOLDER/file:double", 2, r"/file' is neither a \.py file nor a module"),
    Row("explain no/model:double", 2, r"'no/model' is neither a \.py file nor a module"),
    Row("explain FOLDER/no.py:double", 2, r"no\.py cannot be read: No such file or directory"),
    Row("explain FOLDER/folder.py:double", 2, r"folder\.py cannot be read: Is a directory"),
    Row("explain FOLDER/file/no.py:double", 2, r"no\.py cannot be read: Not a directory"),
    Row(f"explain FOLDER/{LONG}.py:double", 2, "cannot be read: File name too long"),
    Row(
        "explain no.such:double", 2, r"no\.such cannot be imported: ModuleNotFoundError: No module"
    ),
    Row(
        "explain FOLDER/raises.py:double",
        2,
        r"raises\.py cannot be imported: ZeroDivisionError: division by zero \(line 2\)$",
    ),
    Row("explain FOLDER/syntax.py:double", 2, r"imported: SyntaxError: .*\(syntax\.py, line 1\)$"),
    Row("explain FOLDER/bytes.py:double", 2, r"bytes\.py cannot be imported: SyntaxError: "),
    Row("explain FOLDER/needs.py:double", 2, "imported: ModuleNotFoundError: No module .*line 1"),
    Row("explain FOLDER/relative.py:double", 2, "imported: ImportError: attempted relative import"),
    Row("explain FOLDER/exits.py:double", 2, r"imported: SystemExit: bye \(line 2\)$"),
    Row("explain FOLDER/model.py:doubel", 2, r"no doubel; did you mean double\?$"),
    Row("explain FOLDER/model.py:q", 2, "q was not found: there is no q$"),
    Row("explain FOLDER/model.py:double.q", 2, "double.q was not found: there is no q$"),
    Row("explain FOLDER/model.py:Counter.cuont", 2, r"no cuont; did you mean count\?$"),
    Row("explain FOLDER/model.py:size", 2, "size is not a function but a value of type int$"),
    Row("explain FOLDER/model.py:counter.broken", 2, "broken cannot be read: KeyError: 'no'$"),
    Row("explain FOLDER/model.py:Net", 2, "Net belongs to a Haiku module, .* name pair.apply$"),
    Row("explain FOLDER/model.py:Net.__call__", 2, "Net.__call__ belongs to a Haiku module"),
    # its arguments
    Row("explain FOLDER/model.py:double --args", 2, "--args: expected one argument"),
    Row("explain FOLDER/model.py:double --args -x", 2, "--args: expected one argument"),
    Row("explain FOLDER/model.py:double --args '(1'", 2, r"--args: '\(' was never closed: \(1$"),
    Row("explain FOLDER/model.py:double --args 'x=1, 2'", 2, "--args: positional argument follows"),
    Row("explain FOLDER/model.py:double --args 'x=1, x=2'", 2, "keyword argument repeated: x: x=1"),
    Row("explain FOLDER/model.py:double --args ','", 2, "--args: invalid syntax: ,$"),
    Row("explain FOLDER/model.py:double --args '1)(2'", 2, "--args: these are not the arguments"),
    Row("explain FOLDER/model.py:double --args '1) + (2'", 2, "not the arguments of one call: 1"),
    Row(
        "explain FOLDER/model.py:double --args y",
        2,
        "--args cannot be evaluated: NameError: name 'y' is not defined$",
    ),
    Row("explain FOLDER/model.py:double --args 'sys.exit(1)'", 2, "evaluated: SystemExit: 1$"),
    Row("explain FOLDER/model.py:double --args 'f32[-1]'", 2, "ValueError: a size is less than 0"),
    Row("explain FOLDER/model.py:double --args 'f32[1.5]'", 2, "TypeError: 'float' object"),
    Row(
        "explain FOLDER/model.py:double",
        2,
        r"the arguments in --args do not fit double\(x\): missing a required argument: 'x'$",
    ),
    Row(
        "explain FOLDER/model.py:double --args 1,2", 2, r"fit double\(x\): too many positional arg"
    ),
    Row("explain FOLDER/model.py:double --args y=1", 2, r"fit double\(x\): .*'(x|y)'$"),
    Row("explain FOLDER/model.py:Counter.count", 2, r"fit Counter\.count\(x\): missing a required"),
    Row(
        "explain FOLDER/model.py:Timer.count",
        2,
        "Timer.count must be called on an instance, and --init may be needed to create the "
        "instance: TypeError: .*'limit'$",
    ),
    Row(
        "explain FOLDER/model.py:Timer.count --init 0",
        2,
        "an instance, which cannot be created: ZeroDivisionError: ",
    ),
    Row("explain FOLDER/model.py:Timer.count --init '['", 2, r"--init: .*\["),
    Row("explain FOLDER/model.py:Timer.count --init y", 2, "--init cannot be evaluated: NameError"),
    Row("explain FOLDER/model.py:double --init 1", 2, "--init is for a method .* not for double"),
    Row("explain FOLDER/model.py:counter.count --init 1", 2, "--init is for a method of a class"),
    # exercises
    Row("exercises learn", 2, "invalid choice: 'learn'"),
    Row("exercises list --lang fr", 2, "--lang: invalid choice: 'fr'"),
    Row("exercises list now", 2, "unrecognized arguments: now"),
    Row("exercises start conter FOLDER/new", 2, "there is no exercise conter; try: counter$"),
    Row("exercises start counter FOLDER/file", 2, "file is not a folder$"),
    Row("exercises start counter FOLDER/file/new", 2, "new is not a folder$"),
    Row("exercises check --dir FOLDER", 2, "no exercise was started in .*$"),
    Row("exercises check --dir FOLDER/no", 2, "no exercise was started in .*no; try: .*$"),
    Row("exercises --dir FOLDER/file", 2, "file is not a folder$"),
    Row("exercises list --course FOLDER/no", 2, "there is no exercise in .*no"),
    Row("exercises export", 2, "the following arguments are required: DIR"),
    Row("exercises export FOLDER", 2, "is not empty, and this command does not overwrite files"),
    Row("exercises export FOLDER/file", 2, "file is not a folder$"),
    Row("exercises export FOLDER/new --format pdf", 2, "--format: invalid choice: 'pdf'"),
    Row("exercises grade FOLDER/no", 2, "no is not a folder$"),
    Row(
        "exercises grade FOLDER --out FOLDER/file",
        2,
        "file already exists and is not a table of grades",
    ),
    Row("exercises grade FOLDER --out FOLDER/no/grades.csv", 2, "no is not a folder$"),
    # what it does while it is traced
    Row("explain FOLDER/model.py:leaves", 1, "leaves raises SystemExit: 0 while it is traced$"),
]

HERE = f"{shlex.quote(sys.executable)} -m haiku_state"
TRAIN = f"{HERE} train --model regression --epochs 2"
DOCTOR = "; `python -m haiku_state doctor` looks for the cause"
FULL = r"OSError: \[Errno 28\] No space left on device"

SHELL = [
    Row(f"JAX_PLATFORMS=bogus {TRAIN}", 1, f"Unable to initialize backend 'bogus'.*{DOCTOR}"),
    Row(f"JAX_PLATFORMS=cuda {TRAIN}", 1, f"Error.*{DOCTOR}"),
    Row(f"JAX_ENABLE_X64=maybe {TRAIN}", 1, f"ValueError: invalid truth value.*{DOCTOR}"),
    Row(
        f"{TRAIN.replace(' -m', ' -OO -m')}", 1, "Haiku or Optax cannot be imported.*-O keeps them$"
    ),
    Row(f"{HERE} doctor | true; exit ${{PIPESTATUS[0]}}", 141, ""),
    Row(f"{HERE} train --help > /dev/full", 1, FULL),
    Row(f"{HERE} doctor > /dev/full", 1, FULL),
    Row(f"{HERE} explain FOLDER/model.py:double --args 1 > /dev/full", 1, FULL),
    Row(f"{HERE} explain FOLDER/interrupts.py:double", 130, "interrupted"),
    Row(f"{HERE} doctor --loud 2>&-", 2, ""),
    Row(f"{HERE} doctor --loud 2> /dev/full", 2, ""),
    Row(f"JAX_ENABLE_X64=maybe {TRAIN} 2>&-", 1, ""),
    Row(f"JAX_ENABLE_X64=maybe {TRAIN} 2> /dev/full", 1, ""),
    Row(
        "mkdir -p said/haiku; "
        "echo 'import signal; signal.raise_signal(2)' > said/haiku/__init__.py; "
        f"PYTHONPATH=FOLDER/said {TRAIN}",
        130,
        "interrupted",
    ),
    Row(f"{HERE} explain FOLDER/twice.py:double", 130, "interrupted"),
    Row(  # in the middle of a write: nobody reads
        "mkdir -p said/jax; echo 'print(1_000_000 * str(2))' > said/jax/__init__.py; "
        f"PYTHONPATH=FOLDER/said timeout --preserve-status -s INT 2 {TRAIN} | sleep 4",
        130,
        "interrupted",
    ),
    Row(f"timeout --preserve-status -s INT 5 {TRAIN}00000 > FOLDER/said", 130, "interrupted"),
    Row(  # a doctor who has not finished by then
        "mkdir -p said/jax; echo 'import time; time.sleep(60)' > said/jax/__init__.py; "
        "PYTHONPATH=FOLDER/said "
        f"timeout --preserve-status -s INT 2 {HERE} doctor > FOLDER/said/printed",
        130,
        "interrupted",
    ),
]


def run_line(line: str, folder: Path) -> tuple[int, str, str]:
    """Run the words after ``haiku-state`` in this process: code, stdout and stderr."""
    from haiku_state.commands.main import main

    output, errors = io.StringIO(), io.StringIO()
    words = [word.replace("FOLDER", str(folder)) for word in shlex.split(line)]
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
        try:
            code = main(words)
        except SystemExit as left:
            code = left.code
    return code, output.getvalue(), errors.getvalue()


def run_shell(line: str, folder: Path) -> tuple[int, str, str]:
    """Run a line of a shell: code, stdout and stderr."""
    line = f"set -o pipefail; {line.replace('FOLDER', str(folder))}"
    with tempfile.TemporaryDirectory() as place:
        ran = User(Path(place)).python("-c", INTERRUPTIBLE, line, cwd=folder, timeout=60)
    return ran.returncode, ran.stdout, ran.stderr


def prepare(folder: Path) -> Path:
    """Put into a folder what the lines expect there."""
    (folder / "file").touch()
    (folder / "folder.png").mkdir()
    (folder / "folder.py").mkdir()
    for name, source in FILES.items():
        (folder / name).write_text(source, encoding="utf-8")
    return folder


def print_table() -> None:
    """Run every line, and print how it ended."""
    rows = [(run_line, row) for row in LINES] + [(run_shell, row) for row in SHELL]
    failed = 0
    for number, (run, row) in enumerate(rows, 1):
        with tempfile.TemporaryDirectory() as folder:
            code, _output, errors = run(row.line, prepare(Path(folder)))
            said = errors.strip().replace(folder, "FOLDER")
        right = code == row.code and bool(re.search(row.says, said)) and "Traceback" not in said
        failed += not right
        line = row.line.replace(HERE, "haiku-state").replace(LONG, "nnn…").replace("\n", "\\n")
        said = said.replace(LONG, "nnn…").replace("\n", " ⏎ ")
        print(f"{number:4}  {'ok' if right else 'NO':4}{code:4}  {line}\n{'':16}{said}", flush=True)
    print(f"{len(rows)} lines, {failed} otherwise than expected")


if __name__ == "__main__":
    os.environ["JAX_PLATFORMS"] = "cpu"
    os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
    print_table()
