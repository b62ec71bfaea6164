"""The cache's name changes with everything that the outputs of a cell depend on."""

import nbformat
from haiku_site.compat import keep_all_executed
from haiku_site.execute import cache
from haiku_site.execute.cache import LIBRARIES, cache_path, fingerprint, installed_versions
from jupyter_cache import get_cache
from jupyter_cache.cache.db import NbCacheRecord


def test_fingerprint__follows_source_versions_and_data(tmp_path):
    (tmp_path / "a.py").write_text("x = 1\n")
    versions = {"jax": "1"}
    data = tmp_path / "data"
    first = fingerprint(tmp_path, versions, data)
    assert fingerprint(tmp_path, versions, data) == first
    assert fingerprint(tmp_path, {"jax": "2"}, data) != first
    (tmp_path / "a.py").write_text("x = 2\n")
    assert fingerprint(tmp_path, versions, data) != first
    (tmp_path / "a.py").write_text("x = 1\n")
    data.mkdir()
    (data / "measured.json").write_text("1")
    assert fingerprint(tmp_path, versions, data) != first
    (data / "measured.json").unlink()
    assert fingerprint(tmp_path, versions, data) == first
    (tmp_path / "exercises").mkdir()
    (tmp_path / "exercises/counter.py").write_text("no page runs it")
    assert fingerprint(tmp_path, versions, data) == first
    (tmp_path / "locale/ja").mkdir(parents=True)
    (tmp_path / "locale/ja/language.json").write_text("{}")  # widgets are in every language
    assert fingerprint(tmp_path, versions, data) != first
    (tmp_path / "locale/ja/language.json").unlink()
    assert fingerprint(tmp_path, versions, data) == first
    (tmp_path / "locale/ja/haiku_state.mo").write_text("compiled from the .po, by each build")
    assert fingerprint(tmp_path, versions, data) == first
    (tmp_path / "a.py").rename(tmp_path / "b.py")
    assert fingerprint(tmp_path, versions, data) != first


def test_keep_all_executed__nothing_is_removed_that_another_process_is_adding(
    tmp_path, monkeypatch
):
    keep_all_executed()
    kept, written = get_cache(tmp_path), tmp_path / "page.ipynb"
    nbformat.write(nbformat.v4.new_notebook(), written)
    late = staticmethod(lambda keep, db: [2])  # added between its two queries
    monkeypatch.setattr(NbCacheRecord, "records_to_delete", late)
    assert kept.cache_notebook_file(str(written), check_validity=False).pk == 1


def test_cache_path__earlier_sources_are_removed_and_other_environments_kept(tmp_path, monkeypatch):
    current = cache_path(tmp_path)
    old = tmp_path / f"{current.name.split('-')[0]}-old"
    for folder in (current, old):
        folder.mkdir()
    assert cache_path(tmp_path) == current
    assert list(tmp_path.iterdir()) == [current]
    monkeypatch.setattr(cache, "installed_versions", lambda: {"jax": "0.1"})
    cache_path(tmp_path).mkdir()
    assert current.exists()
    assert len(list(tmp_path.iterdir())) == 2


def test_installed_versions__has_that_of_each_library():
    import jax

    assert installed_versions()["jax"] == jax.__version__
    assert set(LIBRARIES) < installed_versions().keys()
