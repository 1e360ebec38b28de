"""Entry points are those that importlib.metadata finds, without importing it."""

from __future__ import annotations

from importlib.metadata import entry_points
from pathlib import Path

import pytest

from tui.model.tool import EntryPoint, installed_in, provider_of

TEXT = """\
[other]
a = not.ours:A

# a comment = with a sign
[benchtui.tests]
plain = json
nested = json.decoder:JSONDecoder.decode
extra=json:loads [speed]
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "bench_other-1.2.dist-info"
    folder.mkdir()
    (folder / "entry_points.txt").write_text(TEXT, encoding="utf-8")
    (folder / "METADATA").write_text("Name: bench-other\nVersion: 1.2\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    installed_in.cache_clear()
    return folder


def test_a_group_has_the_names_of_its_own_section(package: Path) -> None:
    found = installed_in("benchtui.tests")
    assert list(found) == ["extra", "nested", "plain"]
    loaded = {name: point.load() for name, point in found.items()}
    expected = {each.name: each.load() for each in entry_points(group="benchtui.tests")}
    assert loaded == expected


def test_a_provider_is_the_package_of_its_folder(package: Path) -> None:
    found = provider_of(installed_in("benchtui.tests")["plain"])
    assert (found.entry_point, found.package, found.version) == ("json", "bench-other", "1.2")
    assert provider_of(EntryPoint("x", "a:b")).package == ""


@pytest.mark.parametrize("group", ["benchtui.workloads", "benchtui.exporters", "pytest11"])
def test_every_installed_entry_point_is_found(group: str) -> None:
    expected = {each.name: each.value for each in entry_points(group=group)}
    assert {name: point.value for name, point in installed_in(group).items()} == expected
