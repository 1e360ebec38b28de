"""Removing entries of the inventory: nothing else changes, in whatever way YAML writes it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tui.engine.inputs.hosts import entry_of, remove_entry
from tui.model.inventory import load_inventory
from tui.model.problem import UsageError

BLOCKS = """\
# lab
hosts:
  # the first rack
  a-[1-3]: {user: bench}

  # the second rack
  b:
    address: 10.0.0.1
    # twice as fast
    groups: [fast]
  'c': {}   # borrowed
defaults: {port: 2222}
"""
FLOW = 'hosts: {"a-[1-3]": {user: bench}, b: {address: 10.0.0.1, groups: [fast]}, c: {}}\n'


@pytest.mark.parametrize("text", [BLOCKS, FLOW])
@pytest.mark.parametrize("host", ["a-2", "b", "c"])
def test_an_entry_is_removed_and_all_others_stay(tmp_path: Path, text: str, host: str) -> None:
    path = tmp_path / "inventory.yaml"
    path.write_text(text)
    before = load_inventory(text, "x").hosts
    entry = entry_of(path, host)
    remove_entry(path, entry)
    after = load_inventory(path.read_text(), "x").hosts
    gone = {name for name in before if name not in after}
    assert gone == ({"a-1", "a-2", "a-3"} if host == "a-2" else {host})
    assert {name: before[name] for name in after} == after
    if text == BLOCKS:
        left = path.read_text()
        assert all(each in left for each in ("# lab", "# the first rack", "# the second rack"))


def test_the_last_entry_can_be_removed(tmp_path: Path) -> None:
    path = tmp_path / "inventory.yaml"
    path.write_text("hosts:\n  a: {}\n")
    remove_entry(path, "a")
    assert not load_inventory(path.read_text(), "x").hosts


def test_a_host_that_a_group_lists_stays_and_the_group_is_named(tmp_path: Path) -> None:
    path = tmp_path / "inventory.yaml"
    text = "hosts:\n  a: {}\n  b: {}\ngroups:\n  fast: [a]\n"
    path.write_text(text)
    with pytest.raises(UsageError, match="'a'"):
        remove_entry(path, "a")
    assert path.read_text() == text
