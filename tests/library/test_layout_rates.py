"""How fast test files were written before, for the time that the next layout may take."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.app.journal_maker import RunMaker, plan_of
from tui.library.build import write_record
from tui.library.layout_rates import LayoutRate, last_layout_rate
from tui.library.runs import RunStore
from tui.model.plan import Plan
from tui.view.plan_layout import (
    NOTHING_KNOWN,
    LayoutAhead,
    layout_bytes,
    pace_text,
    with_rate,
    writing_text,
    writing_time_text,
)

HOSTS = ["h0", "h1"]
RATE = 200 << 20


def store_with(tmp_path: Path, layout_s: int) -> RunStore:
    """A run whose hosts wrote RATE each for some seconds before they measured."""
    maker = RunMaker(tmp_path / "20261120T101530Z-a-0001", HOSTS)
    maker.begin().layout(layout_s, layout_s, RATE).go().measure(3).finish()
    write_record(maker.run_dir)
    return RunStore(tmp_path)


def plan(hosts: list[str] = HOSTS) -> Plan:
    """A plan for 4 GiB on each host."""
    made = plan_of(hosts, ["read"], 60.0)
    tasks = [replace(task, layout=True) for task in made.steps[0].tasks]
    return replace(made, steps=[replace(made.steps[0], tasks=tasks)])


def test_the_rate_is_that_of_the_same_hosts_at_the_same_target(tmp_path: Path) -> None:
    store = store_with(tmp_path, 20)
    rate = last_layout_rate(store, plan())
    assert rate is not None and rate.bytes_per_s == pytest.approx(2 * RATE)
    assert last_layout_rate(store, replace(plan(), target="/elsewhere")) is None
    assert last_layout_rate(store, plan(HOSTS[:1])) is None


def test_a_layout_of_a_few_seconds_tells_no_rate(tmp_path: Path) -> None:
    assert last_layout_rate(store_with(tmp_path, 4), plan()) is None


def test_the_time_is_that_of_the_bytes_that_a_preflight_found_missing() -> None:
    rate = LayoutRate(float(64 << 20), "2026-11-20T10:15:30Z")
    whole = with_rate(NOTHING_KNOWN, rate)
    assert sum(layout_bytes(plan()).values()) == 8 << 30
    assert writing_text(plan(), whole) == "writing 8 GiB first"
    assert writing_time_text(plan(), whole) == "about 2 min 8 s"
    half = with_rate(LayoutAhead(missing_bytes=4 << 30), rate)
    assert writing_time_text(plan(), half) == "about 1 min 4 s"
    assert writing_text(plan(), LayoutAhead(missing_bytes=0)) == ""


def test_without_an_earlier_layout_the_time_is_said_to_be_unknown() -> None:
    assert pace_text(plan(), NOTHING_KNOWN) == ""
    assert "not known" in pace_text(plan(), with_rate(NOTHING_KNOWN, None))
