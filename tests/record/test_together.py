"""Whether hosts ran all the time and at the same time; said beside the number."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.judge.test_findings import only
from tests.record.test_timing import host_run
from tests.samples.events import closed, compared, load, result, run_of, sample, weakening
from tui.judge.wording import message_of
from tui.library.build import build_record
from tui.model.event import AnyEvent
from tui.model.record import RunRecord
from tui.view.run_summary import summary_text


def frozen(host: str, frozen_s: float, start_t: float = 5.0, end_t: float = 40.0) -> list[AnyEvent]:
    """A host that does nothing for a while after 10 s.

    The next snapshot covers that and one second of I/O.
    """
    wakes_t = start_t + 10.0 + frozen_s
    late = sample(wakes_t + 1.0, host, [100_000] * 100, interval_s=frozen_s + 1.0)
    parts = [*load(host, start_t, start_t + 10.0), late, *load(host, wakes_t + 1.0, end_t)]
    iops = 100.0 * (end_t - start_t - frozen_s) / (end_t - start_t)
    return [compared(host, 0.0), *parts, result(host, start_t, end_t, iops)]


def record_of(tmp_path: Path, *hosts: list[AnyEvent], runtime_s: float | None = 35.0) -> RunRecord:
    events = [closed(41.0), *(event for host in hosts for event in host)]
    return build_record(run_of(tmp_path, ["h1", "h2"], events, runtime_s))


def test_a_host_that_was_frozen_is_a_finding_with_its_seconds(tmp_path: Path) -> None:
    record = record_of(
        tmp_path, [compared("h1", 0.0), *host_run("h1", 5.0, 40.0)], frozen("h2", 18.5)
    )
    finding = only(record, "stall")
    assert (finding.severity, finding.scope) == ("warning", {"step": 0, "hosts": "h2"})
    assert finding.measured == pytest.approx(19, abs=1)
    assert re.match(r"I/O stalled on h2 for \d+ s at 0:10 \(of 35 s\);", message_of(finding))
    assert record.verdict == "valid-with-warnings"
    assert message_of(finding) in " ".join(summary_text(record).split())


def test_when_all_hosts_stood_still_at_once_comes_before_which(tmp_path: Path) -> None:
    finding = only(record_of(tmp_path, frozen("h1", 18.5), frozen("h2", 18.5)), "stall")
    message = message_of(finding)
    assert re.match(r"I/O stalled for \d+ of 35 s at 0:10 on all 2 hosts;", message)


def silent(host: str, silent_s: int) -> list[AnyEvent]:
    """A host that reports every second, but does no I/O for a while after 10 s."""
    wakes_t = 15.0 + silent_s
    none = [sample(15.0 + second, host, [], interval_s=1.0) for second in range(1, silent_s + 1)]
    parts = [*load(host, 5.0, 15.0), *none, *load(host, wakes_t, 40.0)]
    return [compared(host, 0.0), *parts, result(host, 5.0, 40.0, 100.0 * (35 - silent_s) / 35)]


def test_a_host_that_did_no_io_for_seconds_is_one_too(tmp_path: Path) -> None:
    record = record_of(tmp_path, [compared("h1", 0.0), *host_run("h1", 5.0, 40.0)], silent("h2", 5))
    assert only(record, "stall").measured == 5.0


@pytest.mark.parametrize("silent_s", [1, 2])
def test_a_moment_is_none(tmp_path: Path, silent_s: int) -> None:
    record = record_of(
        tmp_path, [compared("h1", 0.0), *host_run("h1", 5.0, 40.0)], silent("h2", silent_s)
    )
    assert weakening(record) == []


@pytest.mark.parametrize(("runtime_s", "found"), [(35.0, ["stall"]), (None, [])])
def test_jobs_that_end_one_after_the_other_stand_not_still(
    tmp_path: Path, runtime_s: float | None, found: list[str]
) -> None:
    def host(name: str) -> list[AnyEvent]:
        return [
            compared(name, 0.0),
            *load(name, 5.0, 32.0),
            *load(name, 32.0, 40.0, 10.0),
            result(name, 5.0, 40.0),
        ]

    record = record_of(tmp_path, host("h1"), host("h2"), runtime_s=runtime_s)
    assert [finding.id for finding in record.findings if finding.id == "stall"] == found


def test_hosts_that_never_measured_together_are_an_error_beside_the_number(tmp_path: Path) -> None:
    first = [compared("h1", 0.0), *host_run("h1", 5.0, 15.0)]
    second = [compared("h2", 0.0), *host_run("h2", 16.0, 26.0)]
    record = record_of(tmp_path, first, second, runtime_s=10.0)
    finding = only(record, "never-together")
    assert (finding.severity, record.verdict) == ("error", "invalid")
    assert "did not run together" in " ".join(summary_text(record).split())
