"""Which failed imports are a matter of versions, and which are not."""

import sys
import types
from importlib import metadata

import jax
import pytest

from haiku_state.errors import MissingExtraError, UnmatchedVersionsError
from haiku_state.errors.versions import matched_versions


def inside(module, line):
    """Run a line of code as if it were in a module of this name."""
    exec(line, {"__name__": module})


OF_A_LIBRARY = {
    "a library is missing": lambda: inside("__main__", "import jaxlib.nothing"),
    "a name is missing": lambda: inside("haiku_state.compat", "from jax.core import nothing"),
    "an attribute is missing": lambda: inside("haiku_state.compat", "import jax; jax.lax.nothing"),
    "an attribute of a class is missing": lambda: jax.Array.nothing,
    "raised by a library": lambda: inside("optax._src.base", "raise AttributeError('a')"),
    "what a library needs is missing": lambda: inside("haiku._src", "import nothing"),
}
OF_OUR_OWN = {
    "a name": (NameError, lambda: inside("haiku_state.data", "nothing")),
    "an import": (ImportError, lambda: inside("haiku_state", "from haiku_state.errors import _")),
    "a module": (ImportError, lambda: inside("haiku_state.data", "import haiku_state.nothing")),
    "an attribute": (AttributeError, lambda: types.SimpleNamespace().jax),
    "another library": (ImportError, lambda: inside("haiku_state.data", "import haikus")),
    "a file": (OSError, lambda: inside("jax", "raise OSError('disk')")),
    "a jaxlib that JAX refuses in its own words": (
        RuntimeError,
        lambda: inside("jax._src.lib", "raise RuntimeError('jaxlib version 0.6')"),
    ),
}


@pytest.mark.parametrize("act", OF_A_LIBRARY.values(), ids=OF_A_LIBRARY)
def test_unmatchedversionserror__names_what_comes_out_of_a_library(act):
    with pytest.raises(UnmatchedVersionsError) as caught, matched_versions():
        act()
    cause = caught.value.__cause__
    assert isinstance(cause, ImportError | AttributeError)
    assert caught.value.what.endswith(f": {type(cause).__name__}: {cause}")


@pytest.mark.parametrize(("kind", "act"), OF_OUR_OWN.values(), ids=OF_OUR_OWN)
def test_unmatchedversionserror__every_other_error_is_raised_as_it_is(kind, act):
    with pytest.raises(kind) as caught, matched_versions():
        act()
    assert not isinstance(caught.value, UnmatchedVersionsError)
    assert caught.value.__cause__ is None


def test_unmatchedversionserror__the_text_of_a_cause_is_cut_to_one_line():
    with pytest.raises(UnmatchedVersionsError) as caught, matched_versions():
        inside("jax", "raise ImportError('first\\nsecond')")
    assert caught.value.what.endswith(": ImportError: first")


@pytest.mark.parametrize("optimize", [0, 1, 2])
def test_unmatchedversionserror__names_the_option_that_removes_docstrings(optimize, monkeypatch):
    monkeypatch.setattr(sys, "flags", types.SimpleNamespace(optimize=optimize))
    with pytest.raises(UnmatchedVersionsError) as caught, matched_versions():
        inside("jax", "None.split")
    told = "-O keeps them" if optimize == 2 else "`python -m haiku_state doctor` shows"
    assert told in str(caught.value)


REQUIRED = [
    "jax>=0.4",
    'matplotlib>=3.9; extra == "data"',
    "scikit-learn>=1.5; extra == 'data'",
    'haiku-state[data,more]; extra == "lab"',
    'jupyterlab; extra == "lab"',
    'flax; extra == "more"',
]


@pytest.mark.parametrize(
    ("extra", "installed", "right"),
    [
        ("data", {"matplotlib"}, '"scikit-learn>=1.5"'),
        ("data", {"matplotlib", "scikit-learn"}, '"matplotlib>=3.9" "scikit-learn>=1.5"'),
        ("lab", {"matplotlib"}, '"scikit-learn>=1.5" flax jupyterlab'),
    ],
)
def test_missingextraerror__names_what_an_extra_lacks(extra, installed, right, monkeypatch):
    def version(name):
        if name not in installed:
            raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "requires", lambda name: REQUIRED)
    monkeypatch.setattr(metadata, "version", version)
    text = str(MissingExtraError(library="a library", extra=extra))
    assert f"`python -m pip install {right}`" in text


def test_missingextraerror__a_checkout_that_is_not_installed_names_the_library_alone(monkeypatch):
    def requires(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "requires", requires)
    text = str(MissingExtraError(library="flax", extra="more"))
    assert "`python -m pip install flax`" in text
