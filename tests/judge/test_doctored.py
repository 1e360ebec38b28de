"""Real output with figures that were changed, drawn from a seed: who must name it does.

More of it: make lies.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.long.lies.doctored.case import JudgedCase, judged
from tests.long.lies.doctored.documents import imported, kept
from tests.long.lies.doctored.drawn import cases, drawers
from tui.judge.catalogue import BY_ID

SOURCES = (
    "size/1job-json+-3.33", "size/100psync-gr-json-master", "stream/ramp-3.33",
    "stream/basic-randread-2jobs-3.42",
)  # fmt: skip
OF_EACH = 2


@pytest.fixture(scope="module")
def doctored(tmp_path_factory: pytest.TempPathFactory) -> list[JudgedCase]:
    folder = tmp_path_factory.mktemp("doctored")
    return [judged(case, folder) for case in cases(drawers(kept(SOURCES), folder), OF_EACH)]


def test_every_change_that_can_be_seen_is_named(doctored: list[JudgedCase]) -> None:
    assert len(doctored) > 50
    missed = [
        (each.case.what, each.case.aims[0], each.said)
        for each in doctored
        if each.case.aims and not each.named
    ]
    assert missed == []


def test_what_cannot_be_seen_has_a_reason_and_lies_name_checks_that_exist(
    doctored: list[JudgedCase],
) -> None:
    assert all(bool(each.case.aims) != bool(each.case.unseen) for each in doctored)
    assert {aim for each in doctored for aim in each.case.aims} <= set(BY_ID)


def test_output_that_nobody_changed_is_not_named(tmp_path: Path) -> None:
    for source in kept(SOURCES):
        # three seconds, on files of a few MiB
        assert imported(tmp_path, source.hosts) <= {"runtime", "hot-set"}
