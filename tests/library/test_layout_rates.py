"""How fast test files were written before, for the time that the next layout may take."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.app.journal_maker import RunMaker, plan_of
from tui.cli.shared.review import review_text
from tui.library.build import write_record
from tui.library.layout_rates import LayoutRate, last_layout_rate
from tui.library.runs import RunStore
from tui.model.plan import Plan
from tui.view.plan_layout import (
    NOTHING_KNOWN,
    LayoutAhead,
    is_large,
    layout_bytes,
    pace_text,
    with_rate,
    writing_s,
    writing_text,
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
    assert writing_text(plan(), whole) == "writing 8 GiB"
    assert writing_s(plan(), whole) == 128.0
    assert writing_s(plan(), with_rate(LayoutAhead(missing_bytes=4 << 30), rate)) == 64.0
    assert writing_text(plan(), LayoutAhead(missing_bytes=0)) == ""


def test_writing_and_load_are_added_up(tmp_path: Path) -> None:
    ahead = with_rate(NOTHING_KNOWN, LayoutRate(float(8 << 20), "2026-11-20T10:15:30Z"))
    text = review_text(plan(), ahead)
    assert all(part in text for part in ("about 18 min in all", "writing 17 min", "load 1 min"))
    assert "in all" not in review_text(plan(), with_rate(NOTHING_KNOWN, None))


def test_a_layout_that_takes_longer_than_the_load_stands_out() -> None:
    slow, fast = (
        with_rate(NOTHING_KNOWN, LayoutRate(float(rate), "2026-11-20T10:15:30Z"))
        for rate in (8 << 20, 8 << 30)
    )
    assert is_large(plan(), slow) and not is_large(plan(), fast)
    assert not is_large(plan(), NOTHING_KNOWN)


def test_without_an_earlier_layout_the_time_is_said_to_be_unknown() -> None:
    assert pace_text(plan(), NOTHING_KNOWN) == ""
    assert "not known" in pace_text(plan(), with_rate(NOTHING_KNOWN, None))
