"""The cache's name changes with everything that the outputs of a cell depend on."""

from execution_cache import LIBRARIES, cache_path, fingerprint, installed_versions


def test_the_fingerprint_follows_source_and_versions(tmp_path):
    (tmp_path / "a.py").write_text("x = 1\n")
    versions = {"jax": "1"}
    first = fingerprint(tmp_path, versions)
    assert fingerprint(tmp_path, versions) == first
    assert fingerprint(tmp_path, {"jax": "2"}) != first
    (tmp_path / "a.py").write_text("x = 2\n")
    assert fingerprint(tmp_path, versions) != first
    (tmp_path / "a.py").write_text("x = 1\n")
    (tmp_path / "a.py").rename(tmp_path / "b.py")
    assert fingerprint(tmp_path, versions) != first


def test_old_caches_are_removed(tmp_path):
    (tmp_path / "old").mkdir()
    current = cache_path(tmp_path)
    current.mkdir()
    assert cache_path(tmp_path) == current
    assert list(tmp_path.iterdir()) == [current]


def test_the_versions_are_those_installed():
    import jax

    assert installed_versions()["jax"] == jax.__version__
    assert set(LIBRARIES) < installed_versions().keys()
