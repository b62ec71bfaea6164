"""What a reader installs: the newest tested set of each Python, for each system."""

from types import SimpleNamespace

import pytest
from docutils import nodes
from haiku_site.features.install import SYSTEMS, Install, install_line, newest_sets, requirement
from packaging.requirements import Requirement
from support.constraint_files import FOLDER, lines

from haiku_state.commands.doctor.versions import CORE, read_sets


def test_install__has_the_newest_measured_set_of_each_python():
    for pythons, found in newest_sets(read_sets()):
        for python in pythons:
            [newest] = lines(FOLDER / f"newest-py{python}.txt")
            pinned = list(map(Requirement, lines(FOLDER / newest.removeprefix("-c "))))
            here = {"python_version": python, "python_full_version": f"{python}.0"}
            for package in CORE:
                [version] = [
                    str(wanted.specifier)
                    for wanted in pinned
                    if wanted.name == package
                    if wanted.marker is None or wanted.marker.evaluate(here)
                ]
                assert f" {package}{version}" in install_line("haiku-state", found), (
                    python,
                    package,
                )
    listed = [python for pythons, _ in newest_sets(read_sets()) for python in pythons]
    assert sorted(listed) == sorted(file.stem[9:] for file in FOLDER.glob("newest-py*.txt"))


def test_install__only_the_line_for_a_gpu_asks_for_it():
    [pins] = [pins for pythons, pins in newest_sets(read_sets()) if "3.13" in pythons]
    asking = [
        name
        for name, (_, _, extra) in SYSTEMS.items()
        if "cuda" in install_line("haiku-state", pins, extra)
    ]
    assert asking == ["Linux, GPU"]


def test_install__has_the_lines_of_each_python_for_each_system(monkeypatch):
    config = SimpleNamespace(haiku_state_published=True, release="1.2")
    monkeypatch.setattr(Install, "config", config)
    monkeypatch.setattr(Install, "env", SimpleNamespace(docname="page"))
    [tabs] = Install.__new__(Install).run()
    found = {}
    for tab in tabs:
        label, content = tab.children
        found[label.astext()] = [*content.findall(nodes.literal_block)]
    newest = newest_sets(read_sets())
    assert {name: len(blocks) for name, blocks in found.items()} == {
        name: len(newest) for name in SYSTEMS
    }
    for name, blocks in found.items():
        for (_, pins), block in zip(newest, blocks, strict=True):
            make, enter, extra = SYSTEMS[name]
            line = install_line("haiku-state", pins, extra)
            assert block.astext().splitlines() == [make, enter, line]


@pytest.mark.parametrize(
    ("published", "site", "line"),
    [
        (True, "", '"haiku-state[lab]"'),
        (True, "https://example.org", '"haiku-state[lab]"'),
        (False, "", '"./haiku_state-1.2-py3-none-any.whl[lab]"'),
        (
            False,
            "https://example.org",
            '"haiku-state[lab] @ https://example.org/haiku_state-1.2-py3-none-any.whl"',
        ),
    ],
)
def test_install__one_setting_says_what_is_installed(published, site, line, monkeypatch):
    monkeypatch.setenv("HAIKU_STATE_SITE", site)
    config = SimpleNamespace(haiku_state_published=published, release="1.2")
    assert requirement(config, "lab") == line
