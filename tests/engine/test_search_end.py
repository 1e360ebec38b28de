"""How a run ends that searched: a script tells by its exit code whether there is an answer."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest

from tests.capacity.makers import Latency, capacity_search, queue, went
from tui.engine.run.search import how_search_ended
from tui.engine.session.context import RunContext
from tui.model.search import HOSTS, Knob, Search
from tui.text.run_texts import run_text

CURVE = Search("curve", points=13)


@pytest.mark.parametrize(
    ("search", "latency", "most", "code", "reason"),
    [
        (capacity_search(), queue(7_000), 99, 6, "not confirmed over a longer time: no hold"),
        (capacity_search(), lambda rate: 2e6, 99, 6, "not confirmed over a longer time: no hold"),
        (capacity_search(), lambda rate: 50e6, 99, 5, "no measured load meets p99 < 10ms"),
        (capacity_search(points=2), queue(7_000), 99, 6, "unfinished: all 2 points used"),
        (
            capacity_search(within_s=25.0),
            queue(7_000),
            99,
            6,
            "unfinished: time used up: 25 s of load and pauses",
        ),
        (CURVE, queue(7_000), 99, 0, ""),
        (CURVE, queue(7_000), 5, 6, "unfinished: stopped"),
        (Search("curve", points=4), queue(7_000), 99, 6, "unfinished: all 4 points used"),
        (Search("scaling", over=(Knob(HOSTS, (1, 2)),), points=6), queue(7_000), 99, 0, ""),
        (
            Search("scaling", over=(Knob(HOSTS, (1, 2)),), points=3),
            queue(7_000),
            99,
            6,
            "unfinished: all 3 points",
        ),
    ],
)
def test_a_search_that_knows_and_one_that_does_not_end_with_codes_of_their_own(
    search: Search, latency: Latency, most: int, code: int, reason: str
) -> None:
    seen = SimpleNamespace(points=tuple(went(search, latency, most)))
    ctx = cast(
        RunContext, SimpleNamespace(plan=SimpleNamespace(search=search), run_id="r", search=seen)
    )
    found = how_search_ended(ctx)
    assert found[0] == code
    assert reason in run_text(found[1]) and bool(found[1]) == bool(reason)
