"""Kernels that are forked from a process that has imported the libraries."""

import contextlib
import os
import sys
import time

import pytest
from haiku_site.execute.kernels import forked_kernels
from jupyter_client import KernelManager

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux forks its kernels")


@pytest.fixture(scope="module")
def forked():
    with forked_kernels():
        yield


@pytest.fixture
def kernel(forked, tmp_path):
    with started(cwd=tmp_path, env=os.environ | {"XLA_FLAGS": "", "ASKED": "for"}) as kernel:
        yield kernel


@contextlib.contextmanager
def started(**options):
    manager = KernelManager()
    manager.start_kernel(**options)
    client = manager.client()
    client.start_channels()
    client.wait_for_ready(timeout=60)
    yield manager, client
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def printed(client, code):
    texts = []
    reply = client.execute_interactive(
        code, output_hook=lambda message: texts.append(message["content"].get("text", ""))
    )
    assert reply["content"]["status"] == "ok", reply["content"]
    return "".join(texts)


def ended(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def within(seconds, condition):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)
    return condition()


def test_kernels__one_has_the_libraries_and_may_still_choose_its_devices(kernel, tmp_path):
    _, client = kernel
    before = "import os, sys\nprint('optax' in sys.modules, os.environ['ASKED'], os.getcwd())"
    assert printed(client, before) == f"True for {tmp_path}\n"
    flags = "os.environ['XLA_FLAGS'] = '--xla_force_host_platform_device_count=3'"
    assert printed(client, f"{flags}\nimport jax\nprint(jax.device_count())") == "3\n"
    # a program that a page starts can be waited for
    assert (
        printed(client, "import subprocess\nprint(subprocess.call('exit 3', shell=True))") == "3\n"
    )


def test_kernels__one_ends_when_it_is_told(kernel):
    manager, client = kernel
    pid = int(printed(client, "import os\nprint(os.getpid())"))
    manager.shutdown_kernel()
    assert within(10, lambda: ended(pid))


def test_kernels__the_death_of_one_is_seen(kernel):
    manager, client = kernel
    client.execute("import os\nos._exit(9)")
    assert within(10, lambda: not manager.is_alive())


def test_kernels__none_outlives_the_build(forked, tmp_path):
    with contextlib.ExitStack() as kernels:
        with forked_kernels():
            _, client = kernels.enter_context(started(cwd=tmp_path))
            pid = int(printed(client, "import os\nprint(os.getpid())"))
        assert within(10, lambda: ended(pid))
