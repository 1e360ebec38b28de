"""The agent under shellcheck, and its rules: what is switched off stands in .shellcheckrc with its
reason.
"""

from __future__ import annotations

import re
import shlex

import pytest

from tests.remote.shellcheck import complaints, parts
from tui.remote.scripts import functions

OWN = re.compile(r"(?m)^(bt_\w+)\(\) ")


@pytest.mark.slow  # make test and make lint say the same before any test
def test_shellcheck_has_nothing_to_say() -> None:
    said = complaints()
    if said is None:
        pytest.skip("no shellcheck on this machine")
    assert said == ""


def test_no_part_can_be_read_only_with_another_one_in_sight() -> None:
    for part in parts():
        assert len(functions(part).splitlines()) <= 300, part


def test_every_function_is_there_once() -> None:
    names = OWN.findall(functions(*parts()))
    assert len(names) == len(set(names)) > 80


@pytest.mark.parametrize("part", parts())
def test_local_names_have_a_value_from_the_start(part: str) -> None:
    """`local x` alone keeps the caller's value under dash and busybox, and has none under bash."""
    declared = [
        shlex.split(line, comments=True)[1:]
        for line in functions(part).splitlines()
        if " local " in line[:8]
    ]
    assert [words for words in declared if not all("=" in word for word in words)] == []
