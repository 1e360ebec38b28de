"""Which runs are repetitions of each other, and which parameters may be meant to differ."""

from __future__ import annotations

from itertools import count

import pytest

from tests.samples.records import run, step
from tui.analysis.compare import BY_AB, apart, compare, differing, joined
from tui.model.record import RunRecord

NUMBERS = count()


def made(jobs: int = 1, **tags: str) -> RunRecord:
    record = run(
        step(params={"numjobs": jobs, "directory": "/mnt/a"}, count=0),
        run_id=f"run-{next(NUMBERS)}",
    )
    record.tags = {name.replace("_", "."): value for name, value in tags.items()}
    return record


@pytest.mark.parametrize(
    ("records", "places", "by"),
    [
        ([made(ab="x", ab_side=side) for side in "ABBA"], ((0, 3), (1, 2)), BY_AB),
        ([made(1), made(8), made(8), made(1)], ((0, 3), (1, 2)), "parameters, target and hosts"),
        ([made(build="1"), made(build="1"), made(build="2")], ((0, 1), (2,)), "tags"),
        ([made(), made(), made()], ((0,), (1,), (2,)), ""),
        ([made(1), made(2), made(3)], ((0,), (1,), (2,)), ""),
    ],
    ids=["ab", "parameters", "tags", "all alike", "none alike"],
)
def test_runs_are_joined_by_what_tells_sides_apart(
    records: list[RunRecord], places: tuple[tuple[int, ...], ...], by: str
) -> None:
    found = joined(records)
    assert (found.places, found.by) == (places, by)
    assert found.turned(1).places[0] == places[1]


def test_each_run_alone_is_a_side_of_its_own() -> None:
    assert apart([made(), made()]).places == ((0,), (1,))


def test_what_keeps_runs_from_being_compared_can_be_meant_to_differ() -> None:
    one, other = made(1), made(8)
    other.steps[0].results.aggregate["read"].hosts = ["h1", "h2"]
    found = compare([one], [other])
    assert differing([found]) == ("hosts", "numjobs")
    assert not compare([one], [other], across=differing([found])).obstacles


def test_what_cannot_be_meant_to_differ_leaves_nothing_to_ask_for() -> None:
    one, other = made(1), made(8)
    other.profile.version = 2
    assert differing([compare([one], [other])]) == ()
