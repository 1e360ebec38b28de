"""Tables of what loads had open and ran, over the steps of a run."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tui.model.host_tables import OpenFile, steps_of, with_rows

paths = st.lists(st.sets(st.sampled_from("abcd")), max_size=30)


@given(paths)
def test_every_step_keeps_what_it_had_open(steps: list[set[str]]) -> None:
    table: list[OpenFile] = []
    for index, opened in enumerate(steps):
        found = [OpenFile(index, path, 0) for path in sorted(opened)]
        for _ in range(2):  # a step that is read again adds nothing
            table = with_rows(table, found, index, 128)
    told = [{row.path for row in table if at in steps_of(row, len(steps))} for at in range(30)]
    assert told[: len(steps)] == steps
    assert not any(told[len(steps) :])
    assert len(table) == len(set[str]().union(*steps))


@given(paths, st.integers(0, 3))
def test_a_table_keeps_at_most_so_many_rows(steps: list[set[str]], most: int) -> None:
    table: list[OpenFile] = []
    for index, opened in enumerate(steps):
        table = with_rows(table, [OpenFile(index, each, 0) for each in opened], index, most)
    assert len(table) <= most


@given(st.text("0123456789- x", max_size=40), st.integers(1, 50))
def test_steps_that_a_run_does_not_have_are_not_made(later: str, count: int) -> None:
    assert set(steps_of(OpenFile(0, "/f", 0, later), count)) <= set(range(count))
