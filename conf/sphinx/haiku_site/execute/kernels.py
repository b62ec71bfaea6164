"""Kernels that start at once: each is forked from one process that has imported the libraries.

A kernel of Jupyter imports for some four seconds before a page's first cell computes anything.
Here one process imports what the pages use, and asks JAX for nothing, so that a page may still
choose its devices. It is forked for each kernel. What Jupyter starts and watches is a small process
that hands its environment over and ends with the kernel. Where processes cannot be forked,
Jupyter's own kernels run.
"""

import contextlib
import gc
import importlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

IMPORTED = (
    "ipykernel.kernelapp", "equinox", "flax.nnx", "haiku_state", "matplotlib.axes", "optax",
    "orbax.checkpoint", "sklearn.datasets",
)  # fmt: skip


@contextlib.contextmanager
def forked_kernels() -> Iterator[None]:
    """Have the kernels that this process and its children ask Jupyter for be forked."""
    if sys.platform != "linux":
        yield
        return
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as server:
        address = f"{folder}/server"
        server.bind(address)
        server.listen()
        spec = Path(folder, "kernels/python3/kernel.json")
        spec.parent.mkdir(parents=True)
        # isolated, without the site's packages: this process only waits
        command = [sys.executable, "-IS", __file__, "ask", address, "-f", "{connection_file}"]
        named = {"argv": command, "display_name": "Python 3", "language": "python"}
        named["interrupt_mode"] = "message"  # the process that waits is not to be interrupted
        spec.write_text(json.dumps(named), encoding="utf-8")
        forked = subprocess.Popen(
            [sys.executable, __file__, "serve", str(server.fileno())],
            stdin=subprocess.PIPE,
            pass_fds=[server.fileno()],
        )
        server.close()  # or a kernel would wait forever, had that process failed
        try:
            with patch.dict(os.environ, JUPYTER_PATH=folder):
                yield
        finally:
            forked.kill()  # and all kernels end with it, as they do if this process is killed
            forked.communicate()


def ask(address: str, *arguments: str) -> None:
    """Have a kernel be forked, and wait for its end."""
    with socket.socket(socket.AF_UNIX) as kernel:
        kernel.connect(address)
        kernel.sendall(json.dumps([arguments, os.getcwd(), {**os.environ}]).encode())
        kernel.shutdown(socket.SHUT_WR)
        kernel.recv(1)  # nothing is sent: this returns when the kernel's end of it is closed


def serve(server: socket.socket) -> socket.socket | None:
    """Fork for each that asks. Returns its connection in the fork, and None once the input ends."""
    for module in IMPORTED:
        importlib.import_module(module)
    gc.freeze()  # forks do not copy the pages of what is imported
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody here asks how a kernel has ended
    while server in select.select([server, sys.stdin], [], [])[0]:
        connection, _ = server.accept()
        if not os.fork():
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            server.close()
            return connection
        connection.close()
    return None


def be_kernel(connection: socket.socket) -> None:
    """Turn this process into the kernel that was asked for."""
    from ipykernel.kernelapp import launch_new_instance

    with connection.makefile() as request:
        arguments, folder, environment = json.load(request)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    launch_new_instance([*arguments, f"--IPKernelApp.parent_handle={os.getppid()}"])


if __name__ == "__main__":
    what, *arguments = sys.argv[1:]
    if what == "ask":
        ask(*arguments)
    elif asked := serve(socket.socket(fileno=int(arguments[0]))):
        sys.path.remove(str(Path(__file__).parent))
        be_kernel(asked)
