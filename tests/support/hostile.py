"""Answers that break, or try to pass without being right: data for ``test_sandbox``.

Each is run in the place of an answer to ``counter``. ``RIGHT`` is a right one, which must not help;
``IMPURE`` gives the right results, and no more.
"""

RIGHT = """
def count(state, increment):
    return increment, state + increment


def reset(state):
    return None, state * 0
"""

WRONG = """
def count(state, increment):
    return increment, state


def reset(state):
    return None, state
"""

IMPURE = """
total = 0


def count(state, increment):
    global total
    total = 1
    return increment, state + increment


def reset(state):
    return None, state * 0
"""

TOO_LONG = "did not end within"

# name: the answer, a part of what is told about it, and the line of it (None: it has none)
BROKEN = {
    "endless loop": ("while True: pass\n", TOO_LONG, 1),
    "endless loop in a call": (
        "def count(state, increment):\n    while True:\n        state = state + 0\n",
        TOO_LONG, 3,
    ),
    "endless compiled loop": (
        "from jax.lax import while_loop\n\n\ndef count(state, increment):\n"
        "    return increment, state + int(while_loop(lambda n: n > -1, lambda n: n * 0, 0))\n",
        TOO_LONG, 5,
    ),
    "sleep": ("import time\ntime.sleep(1000)\n", TOO_LONG, 2),
    "syntax error": ("def count(state, increment)\n    return 1\n", "SyntaxError", 1),
    "indentation": ("def count(state, increment):\nreturn 1\n", "IndentationError", 2),
    "null byte": ("x = 1\0\n", "cannot contain null bytes", None),
    "not UTF-8": ("x = '\udcff'\n", "Error", None),
    "empty": ("", "does not define `count`", None),
    "exception": ("raise ValueError('of my own')\n", "ValueError: of my own", 1),
    "exit": ("import sys\nsys.exit(0)\n", "itself ended the program", 2),
    "exit in a call": (
        "def count(state, increment):\n    raise SystemExit\n", "itself ended the program", 2,
    ),
    "quick exit": ("import os\nos._exit(0)\n", "ended before all checks were done", None),
    "killed": ("import os\nos.kill(os.getpid(), 9)\n", "os.kill", 2),
    "kills the checker": ("import os\nos.kill(os.getppid(), 9)\n", "os.kill", 2),
    "kills a group": ("import os\nos.killpg(os.getpgid(os.getppid()), 9)\n", "os.killpg", 2),
    "crash": (
        "import ctypes\nctypes.string_at(0)\n", "ended before all checks were done", 2,
    ),
    "recursion": (
        "def count(state, increment):\n    return count(state, increment)\n", "RecursionError", 2,
    ),
    "memory": ("x = bytearray(1 << 36)\n", "of memory", 1),
    "memory, slowly": (
        "x = []\nwhile True:\n    x.append(bytes(1 << 24))\n", "of memory", 3,
    ),
    "flood": ("while True:\n    print('x' * 1000)\n", "printed more than a megabyte", None),
    "input": ("name = input('who? ')\n", "asks for input", 1),
    "fork": ("import os\nwhile True:\n    os.fork()\n", "os.fork", 3),
    "subprocess": ("import subprocess\nsubprocess.run(['true'])\n", "subprocess.Popen", 2),
    "system": ("import os\nos.system('true')\n", "os.system", 2),
    "pool": (
        "import multiprocessing\nmultiprocessing.get_context('spawn').Process().start()\n",
        "multiprocessing", 2,
    ),
    "network": (
        "import socket\nsocket.create_connection(('localhost', 9), 1)\n", "socket.connect", 2,
    ),
    "file": ("open('notes.txt', 'w')\n", "notes.txt", 1),
    "file of another library": (
        "import ssl\nssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).keylog_filename = 'keys.txt'\n",
        "keys.txt", 2,
    ),
    "removed file": ("import os\nos.remove('nothing.txt')\n", "nothing.txt", 2),
    "bad object": (
        "class Odd:\n    def __repr__(self):\n        raise ValueError\n\n\n"
        "def count(state, increment):\n    return Odd()\n",
        "not as expected", None,
    ),
    "bad exception": (
        "class Odd(Exception):\n    def __str__(self):\n        raise ValueError\n\n\nraise Odd\n",
        "Odd", 6,
    ),
}  # fmt: skip

# name: an answer that is wrong, and does something so that it may pass
CHEATS = {
    "prints": WRONG + "print('passed: A counter as two pure functions')\n",
    "writes the answer of the checker": WRONG
    + """
import json, os

for descriptor in range(1, 20):
    try:
        os.write(descriptor, json.dumps({"done": True, "nonce": ""}).encode() + b"\\n")
    except OSError:
        pass
""",
    "replaces the judge": WRONG
    + """
import haiku_state.exercises.judge as judge
from haiku_state.exercises import result

judge.judge = lambda *arguments: True
result.Result.passed = True
""",
    "replaces jit": WRONG + "import jax\n\njax.jit = lambda function: function\n",
    "replaces explain": """
import haiku_state as hs

hs.explain = lambda *arguments: None
"""
    + IMPURE,
    "is pure only when eager": """
import jax

total = [0]


def count(state, increment):
    if isinstance(state, jax.core.Tracer):
        return increment, state
    return increment, state + increment


def reset(state):
    return None, state * 0
""",
    "equals everything": """
class Same:
    def __eq__(self, other):
        return True


def count(state, increment):
    return Same(), Same()


def reset(state):
    return Same()
""",
    "knows a value by heart": """
def count(state, increment):
    return 3, state * 0 + 10


def reset(state):
    return None, state * 0
""",
    "reads the expected values": """
from haiku_state.exercises.courses import ours

right = ours().solution("counter")
exec(right)
""",
    "asks for the solution": """
from haiku_state.exercises import solution

exec(solution("counter"))
""",
    "finds the solution by a glob": """
import pathlib
import haiku_state

folder = pathlib.Path(haiku_state.__file__).parent
text = next(folder.rglob("counter.py")).read_text()
exec(text)
""",
    "reads the solution by another name": """
import os
import haiku_state

here = os.path.join(os.path.dirname(haiku_state.__file__), "exercises", ".", "course", "counter.py")
os.chdir(os.path.dirname(here))
exec(open("counter.py").read())
""",
    "looks for the checker in its frames": RIGHT
    + "import sys\n\nseed = sys._getframe(1).f_locals\n",
    "looks for the checker in a traceback": RIGHT
    + """
try:
    raise ValueError
except ValueError as error:
    frames = error.__traceback__.tb_frame.f_back.f_locals
""",
    "looks for the checker among all objects": RIGHT + "import gc\n\nfound = gc.get_objects()\n",
    "watches the checker": RIGHT + "import sys\n\nsys.setprofile(lambda *arguments: None)\n",
    "traces the checker": RIGHT + "import sys\n\nsys.settrace(lambda *arguments: None)\n",
    "exits with success": WRONG + "import atexit, os\n\natexit.register(os._exit, 0)\n",
    "ends the hook": WRONG + "import sys\n\nsys.addaudithook(lambda *arguments: None)\n",
    "replaces explain where the checker has it": """
import haiku_state.exercises.sandbox.child as child

child.explain = lambda *arguments: type("Report", (), {"findings": ()})
"""
    + IMPURE,
    "replaces what compares": WRONG
    + """
import haiku_state.exercises.sandbox.values as values

values.encoded = lambda tree: []
""",
    "replaces the code of explain": """
import haiku_state as hs

hs.explain.__code__ = (lambda *arguments, **more: None).__code__
"""
    + IMPURE,
    "replaces a function of NumPy": WRONG + "import numpy as np\n\nnp.asarray = lambda x, *a: 0\n",
    "replaces a builtin": WRONG + "import builtins\n\nbuiltins.isinstance = lambda *a: True\n",
    "closes the channel": WRONG + "import os\n\nos.closerange(3, 100)\n",
    "writes through the memory": WRONG + "import ctypes\n\nctypes.string_at(id(count), 8)\n",
    "starts a thread that ends it": WRONG
    + """
import os, threading

threading.Timer(0.2, os._exit, (0,)).start()
""",
    "imports a solution from a file": WRONG
    + """
import importlib.util, pathlib, haiku_state

file = pathlib.Path(haiku_state.__file__).parent / "exercises/course/counter.py"
spec = importlib.util.spec_from_file_location("counter", file)
spec.loader.exec_module(importlib.util.module_from_spec(spec))
""",
}
