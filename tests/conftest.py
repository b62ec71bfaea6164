"""Eight CPU devices, English texts, JAX at its strictest, before any test module is imported."""

import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["HAIKU_STATE_LANG"] = "en"
_flags = os.environ.get("XLA_FLAGS", "")
os.environ["XLA_FLAGS"] = f"{_flags} --xla_force_host_platform_device_count=8".strip()
os.environ.setdefault("NPROC", "32")  # threads of XLA's pool, as use_devices sets them

import jax  # noqa: E402
import pytest  # noqa: E402
from jax.experimental.compilation_cache import compilation_cache  # noqa: E402
from support.allowed_warnings import ALLOWED  # noqa: E402
from support.chromium import CHROMIUM, missing, running, watched  # noqa: E402
from support.user import User  # noqa: E402

ROOT = Path(__file__).parents[1]
STRICT = {
    "jax_numpy_dtype_promotion": "strict",
    "jax_numpy_rank_promotion": "raise",
    "jax_legacy_prng_key": "error",
    "jax_debug_key_reuse": True,
}
LONGEST = "test_train__the_scenarios[all]"
FLAX_STUB = "haiku.experimental.flax"
collect_ignore = ["support", "tools"]  # no tests

for _name, _value in STRICT.items():
    jax.config.update(_name, _value)


def pytest_configure(config):
    for allowed in ALLOWED:
        if allowed.applies():
            config.addinivalue_line("filterwarnings", allowed.as_filter())


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: not item.nodeid.endswith(LONGEST))  # it mostly waits
    # dm-haiku before 0.0.16 puts an object that has no __file__ there, and Hypothesis reads it
    if not isinstance(sys.modules.get(FLAX_STUB), ModuleType | None):
        del sys.modules[FLAX_STUB]
    from haiku_state.compat import keep_programs  # Haiku warns, which is an error before this

    # Many tests build the same program anew. JAX keeps each one that was compiled, for all workers
    # and later runs.
    keep_programs(str(ROOT / "build/programs"))


@pytest.fixture
def open_page(new_page, tmp_path):
    """Open a page of one's own, as a file."""

    def open_page(text, width=1280, **options):
        page = new_page(width, **options)
        (tmp_path / "page.html").write_text(text, encoding="utf-8")
        page.goto((tmp_path / "page.html").as_uri())
        return page

    return open_page


@pytest.fixture
def user(tmp_path_factory):
    """Start processes as a user does."""
    return User(tmp_path_factory.mktemp("user"))


@pytest.fixture(scope="module")  # not longer: other tests could not run an event loop beside it
def browser():
    if CHROMIUM is None:
        missing("there is no Chromium on this machine")
    if importlib.util.find_spec("playwright") is None:
        missing("playwright is not installed; the extra dev has it")
    with running() as browser:
        yield browser


@pytest.fixture
def new_page(browser):
    """Open pages that have nothing in common."""
    contexts = []

    def new_page(width, **options):
        contexts.append(browser.new_context(viewport={"width": width, "height": 800}, **options))
        return watched(contexts[-1])

    yield new_page
    for context in contexts:
        context.close()


@pytest.fixture
def standard_promotion():
    """For what calls optax.adam or hk.BatchNorm with arguments that strict promotion refuses."""
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        yield


@pytest.fixture
def compiled_anew():
    """For what asks XLA about a program: old JAX no longer knows the memory of a kept one."""
    _keep_programs(False)
    yield
    _keep_programs(True)


def _keep_programs(keep):
    jax.config.update("jax_enable_compilation_cache", keep)
    compilation_cache.reset_cache()  # JAX 0.4.35 and newer ask for the setting only once
