"""The language by which runs are chosen."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.library.filter import parse
from tui.library.record_head import FindingSummary
from tui.library.summary import ORDERS, RunSummary, ordered
from tui.model.problem import UsageError

NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
WEKA = RunSummary(
    "20261122T080000Z-weka-read-iops-0001",
    "2026-11-22T08:00:00.000Z",
    "weka/read-iops",
    ["weka-01", "weka-02"],
    "complete",
    headline="read 390k IOPS",
    headline_value=390_000.0,
    headline_unit="iops",
    verdict="valid",
    tags={"lab": "a", "nightly": ""},
    notes=["Cold cache", "after the upgrade"],
    target="/mnt/weka",
    starred=True,
)
CEPH = RunSummary(
    "20261115T120000Z-ceph-mix-0002",
    "2026-11-15T12:00:00.000Z",
    "ceph/mix",
    ["osd-1"],
    "partial",
    headline="mixed 16.0k IOPS",
    headline_value=16_000.0,
    headline_unit="iops",
    verdict="valid-with-warnings",
    findings=[FindingSummary("straggler", "warning", "osd-1 is slow")],
    title="Before tuning",
    owner="alice",
)
LOST = RunSummary("odd", None, "", [], "unreadable")
RUNS = [WEKA, CEPH, LOST]


def names(text: str) -> str:
    """The first letters of the runs that a filter lets through."""
    fits = parse(text, NOW)
    return "".join(letter for letter, run in zip("WCL", RUNS, strict=True) if fits(run))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", "WCL"),
        ("iops", "WC"),
        ("COLD upgrade", "W"),
        ("cold tuning", ""),
        ('"cold cache"', "W"),
        ('"cold upgrade"', ""),
        ("straggler", "C"),
        ("-ceph", "WL"),
        ("tag:lab", "W"),
        ("tag:lab=a", "W"),
        ("tag:lab=b", ""),
        ("tag:night*", "W"),
        ("-tag:nightly", "CL"),
        ("profile:weka", "W"),
        ("profile:*/mix", "C"),
        ("profile:weka,ceph", "WC"),
        ("host:weka-0", "W"),
        ("host:osd-?", "C"),
        ("verdict:valid", "WC"),
        ("verdict:clean", "W"),
        ("verdict:warnings", "C"),
        ("-verdict:valid", "L"),
        ("verdict:warnings,invalid", "C"),
        ("verdict:none", "L"),
        ("state:partial,unreadable", "CL"),
        ("is:starred", "W"),
        ("is:mine", "WL"),
        ("owner:ali", "C"),
        ("title:tuning", "C"),
        ("note:cold", "W"),
        ("target:/mnt", "W"),
        ("finding:v14", "C"),
        ("profile:", "WCL"),
        ("since:today", "W"),
        ("since:7d", "WC"),
        ("since:167h", "W"),
        ("until:yesterday", "C"),
        ("date:2026-11", "WC"),
        ("date:2026-11-15", "C"),
        ("date:2026-11-22T08:00", "W"),
        ("since:2026-11-15 until:2026-11-15", "C"),
        ("date:2025", ""),
        ("date:1d", "W"),
        ("since:2026-11-16 profile:weka iops", "W"),
    ],
)
def test_a_filter_means(text: str, found: str) -> None:
    assert names(text) == found


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("profil:weka", "unknown filter key 'profil:' (did you mean 'profile'?)"),
        ("verdict:vald", "unknown verdict 'vald' (did you mean 'valid'?)"),
        ("state:done", "unknown state 'done'"),
        ("is:stared", "unknown 'is:stared' (did you mean 'starred'?)"),
        ("since:2026-13-01", "'2026-13-01' is not a date"),
        ("until:soon", "'soon' is not a date; allowed: today, yesterday, 7d"),
        ("since:999999w", "is not a date"),
    ],
)
def test_what_there_is_not_is_named(text: str, said: str) -> None:
    with pytest.raises(
        UsageError, match=said.replace("(", r"\(").replace(")", r"\)").replace("?", r"\?")
    ):
        parse(text, NOW)


@given(st.text(max_size=40))
def test_any_text_is_a_filter_or_says_why_not(text: str) -> None:
    try:
        fits = parse(text, NOW)
    except UsageError:
        return
    for run in RUNS:
        assert fits(run) in (True, False)


@pytest.mark.parametrize(
    ("key", "order"),
    [
        ("started", "WCL"),
        ("profile", "CWL"),
        ("title", "CWL"),
        ("state", "LCW"),
        ("verdict", "CWL"),
        ("hosts", "WCL"),
        ("headline", "WCL"),
        ("star", "WCL"),
        ("owner", "WLC"),
    ],
)
def test_runs_are_in_order(key: str, order: str) -> None:
    letters = {run.run_id: letter for letter, run in zip("WCL", RUNS, strict=True)}
    assert "".join(letters[run.run_id] for run in ordered(RUNS, key)) == order


def test_the_least_latency_is_the_best() -> None:
    slow, fast = (
        RunSummary(name, None, "", [], "complete", headline_value=value, headline_unit="ns")
        for name, value in (("slow", 2e6), ("fast", 1e6))
    )
    assert [run.run_id for run in ordered([slow, fast], "headline")] == ["fast", "slow"]


def test_every_order_can_be_turned_round() -> None:
    for key in ORDERS:
        assert len(ordered(RUNS, key, reverse=True)) == len(RUNS)
