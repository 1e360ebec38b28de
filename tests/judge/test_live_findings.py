"""Findings of a run that goes on: the same checks and figures as at its end, and nothing that comes
and goes.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from tests.app.journal_maker import READS, RUN_ID, RunMaker, host_names
from tests.app.matrix_maker import line_sweep
from tests.app.roles_maker import with_roles
from tests.app.search_maker import offers, search_in
from tui.journal.fold import fold
from tui.journal.reader import JournalTail
from tui.journal.state import RunState
from tui.judge import live
from tui.judge.catalogue import BY_ID, CHECKS
from tui.judge.check import CheckResult
from tui.judge.live import LiveFinding, LiveFindings
from tui.library.build import build_record
from tui.model.event import HostFactsCollected, Sample, encode
from tui.model.plan import JobLoad, Plan
from tui.model.record import Finding
from tui.model.rundir import PLAN_FILE
from tui.record.running_step import RunningStep, exhaust
from tui.text.line import plain_lines
from tui.view.findings import live_lines

BUSY = {
    "cpu.busy": 99.0,
    "core.busy": 100.0,
    "gen.thread": 50.0,
    "core.number": 3.0,
    "cpu.steal": 0.0,
}
IDLE = BUSY | {"cpu.busy": 20.0, "core.busy": 40.0}


@pytest.fixture(autouse=True)
def _looks_cost_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look every five seconds, however busy the machine of the tests is."""
    monkeypatch.setattr(live, "SHARE", inf)


class Watch:
    """Somebody who follows the journal of a run and looks at every second."""

    def __init__(self, maker: RunMaker) -> None:
        self.maker = maker
        self.state = RunState()
        self.tail = JournalTail(maker.journal)
        self.findings = LiveFindings(self.plan)
        self.new: list[LiveFinding] = []

    @property
    def plan(self) -> Plan:
        return msgspec.json.decode((self.maker.run_dir / PLAN_FILE).read_bytes(), type=Plan)

    def take(self) -> Watch:
        for event in self.tail.poll():
            fold(self.state, event)
        return self

    def seconds(self, count: int, each: Callable[[], object] | None = None) -> Watch:
        """Let the run go on, looking once a second."""
        for _ in range(count):
            (each or (lambda: self.maker.measure(1)))()
            self.take()
            self.new += self.findings.update(self.state, self.state.clock.now)
        return self

    @property
    def now(self) -> list[str]:
        return [each.finding.id for each in self.findings.now]

    @property
    def was(self) -> list[str]:
        return [each.finding.id for each in self.findings.was]


SHORT_S = 20.0  # most of so short a load has passed at the third look


def watched(tmp_path: Path, hosts: int = 3, runtime_s: float = 600.0) -> Watch:
    return Watch(
        RunMaker(tmp_path / "runs" / RUN_ID, host_names(hosts), READS, runtime_s=runtime_s)
        .begin()
        .go()
    )


def change_step(maker: RunMaker, **changes: object) -> None:
    path = maker.run_dir / PLAN_FILE
    plan = msgspec.json.decode(path.read_bytes(), type=Plan)
    plan.steps[0] = msgspec.structs.replace(plan.steps[0], **changes)
    path.write_bytes(msgspec.json.encode(plan))


def test_the_bytes_of_very_many_processes_count_while_the_load_continues(tmp_path: Path) -> None:
    at = watched(tmp_path, hosts=1, runtime_s=120.0)
    at.maker.measure(2)
    moved = at.take().state.cluster["read"].bw_bytes_per_s or 0.0
    columns = {"gen.procs": 64.0, "gen.read_bytes": 0.1 * moved, "dev.nvme0n1.rd": 2 * moved}
    at.maker.look_at(at.maker.hosts[0], columns)
    assert "storage-traffic" in at.seconds(40).now  # a neighbour moves what the device counts


def test_what_weakens_point_after_point_of_a_search_is_reported_once(tmp_path: Path) -> None:
    maker = search_in(tmp_path, hosts=1)
    at = Watch(maker)
    for place, offer in enumerate(offers()[:3]):
        maker.offer(place, offer).look_at(maker.hosts[0], BUSY)

        def second(rate: float | None = offer.rate_iops) -> None:
            maker.load(1, rate).add(maker.telemetry(maker.hosts[0], maker.t + 1))
            maker.t += 1

        at.seconds(25, second)
        maker.decide(place, offer)
    assert [each.finding.id for each in at.new].count("client-cpu") == 1
    assert [each.points for each in at.findings.now if each.finding.id == "client-cpu"] == [3]
    assert "client-cpu" not in at.was
    assert "3 points, since" in "\n".join(plain_lines(live_lines(at.findings, 80)))


def test_a_running_step_has_the_figures_of_its_record(tmp_path: Path) -> None:
    at = watched(tmp_path)
    for number, host in enumerate(at.maker.hosts):
        at.maker.look_at(host, {"cpu.busy": 10.0 * number, "core.number": 2.0, "tcp.retrans": 3.0})
    step = RunningStep(at.plan, at.plan.steps[0])
    for _ in range(8):  # piece by piece, as a screen looks
        at.maker.measure(5)
        found = exhaust(step.record(at.take().state))
    kept = build_record(at.maker.run_dir).steps[0]
    assert found.measured_s == kept.measured_s
    for host, dirs in kept.results.per_host.items():
        live_dir, kept_dir = found.results.per_host[host]["read"], dirs["read"]
        assert (live_dir.ios, live_dir.bytes) == (kept_dir.ios, kept_dir.bytes)
        assert live_dir.iops == pytest.approx(kept_dir.iops)
        assert live_dir.clat is not None and kept_dir.clat is not None
        assert live_dir.clat.mean_ns == pytest.approx(kept_dir.clat.mean_ns)
    whole, kept_whole = found.results.aggregate["read"], kept.results.aggregate["read"]
    assert (
        whole.iops == pytest.approx(kept_whole.iops)
        and whole.clat is not None
        and kept_whole.clat is not None
    )
    assert whole.clat.mean_ns == pytest.approx(kept_whole.clat.mean_ns)
    assert found.series is not None and kept.series is not None
    assert found.series.start_s == kept.series.start_s
    assert [(each.host, each.iops, each.bw_bytes_per_s) for each in found.series.columns] == [
        (each.host, each.iops, each.bw_bytes_per_s) for each in kept.series.columns
    ]
    for seen, told in zip(found.telemetry, kept.telemetry, strict=True):
        assert (seen.host, seen.start_s) == (told.host, told.start_s)
        for name in ("cpu.busy", "core.number", "tcp.retrans"):
            column, of = seen.column(name), told.column(name)
            assert column is not None and of is not None
            assert column.mean == pytest.approx(of.mean) and column.max == of.max
            assert column.constant == (of.constant if name == "core.number" else None)
            assert seen.values_of(name) == told.values_of(name)


def test_what_was_measured_before_the_ramp_ended_is_in_no_series(tmp_path: Path) -> None:
    at = watched(tmp_path)
    change_step(at.maker, ramp_s=5.0)

    def ramp() -> None:
        before = at.maker.journal.stat().st_size
        at.maker.measure(1)
        lines = at.maker.journal.read_bytes()
        samples = [msgspec.json.decode(line, type=Sample) for line in lines[before:].splitlines()]
        at.maker.journal.write_bytes(
            lines[:before]
            + b"".join(encode(msgspec.structs.replace(each, ramp=True)) for each in samples)
        )

    at.seconds(5, ramp).seconds(20)
    found = exhaust(RunningStep(at.plan, at.plan.steps[0]).record(at.state))
    kept = build_record(at.maker.run_dir).steps[0]
    assert found.series is not None and kept.series is not None
    assert found.series.start_s == kept.series.start_s
    assert found.series.columns[0].iops == kept.series.columns[0].iops


def test_a_finding_is_reported_once_when_it_was_seen_in_two_looks_in_a_row(tmp_path: Path) -> None:
    at = watched(tmp_path, runtime_s=SHORT_S)
    for host in at.maker.hosts:
        at.maker.look_at(host, BUSY)
    at.seconds(12)
    assert "client-cpu" not in at.now
    at.seconds(20)
    assert at.now.count("client-cpu") == 1
    assert [each.finding.id for each in at.new].count("client-cpu") == 1
    assert at.findings.by_host()["weka-02"][0].finding.id == "client-cpu"


def test_a_finding_that_is_over_stays_listed_as_one_that_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = [CheckResult("warning", "bound", 1, 0, {"hosts": "weka-01"}, {"hosts": []})]
    told = replace(BY_ID["client-cpu"], of_step=lambda _: found)
    monkeypatch.setattr(
        live, "CHECKS", [told if check.id == "client-cpu" else check for check in CHECKS]
    )
    at = watched(tmp_path)
    at.seconds(20)
    found.clear()
    at.seconds(40)
    (over,) = (each for each in at.findings.was if each.finding.id == "client-cpu")
    assert "client-cpu" not in at.now
    assert over.since_t < 20 < (over.ended_t or 0.0)
    assert "client-cpu" not in [
        each.finding.id for each in at.findings.by_host().get("weka-01", [])
    ]


def test_at_the_end_the_findings_are_those_of_the_record(tmp_path: Path) -> None:
    at = watched(tmp_path, runtime_s=SHORT_S)
    for host in at.maker.hosts:
        at.maker.look_at(host, BUSY)
    at.seconds(40)
    assert "client-cpu" in at.now
    kept = [Finding(id="repetitions", severity="info", message="measured once")]
    at.findings.settle(kept, 50.0)
    assert at.now == ["repetitions"] and "client-cpu" in [
        each.finding.id for each in at.findings.was
    ]
    at.seconds(20)
    assert at.now == ["repetitions"], "nothing is looked at any more"


def test_one_look_without_it_does_not_end_a_finding(tmp_path: Path) -> None:
    each = LiveFinding(
        finding=Finding(id="client-cpu", severity="warning", message=""),
        since_t=1.0,
        reported=True,
        in_a_row=5,
    )
    each.miss(20.0, sure=False)
    each.see(each.finding, 25.0)
    assert each.ended_t is None
    each.miss(30.0, sure=False)
    each.miss(35.0, sure=False)
    assert each.ended_t == 35.0


def test_what_only_the_end_can_tell_is_not_told_before(tmp_path: Path) -> None:
    at = watched(tmp_path).seconds(30)
    only_at_the_end = {"runtime", "few-samples", "repetitions", "short", "never-together"}
    assert at.findings.made and not at.findings.made & only_at_the_end
    assert not {*at.now, *at.was} & only_at_the_end


def test_concurrency_is_checked_while_the_run_continues(tmp_path: Path) -> None:
    at = watched(tmp_path, hosts=1)
    job = JobLoad("read_iops", ("read",), workers=50, held=50, direct=True, bound_s=600.0)
    change_step(at.maker, jobs=[job], in_flight=50)
    at = Watch(at.maker)
    at.seconds(30)
    assert "concurrency" in at.now
    assert "concurrency" in {each.finding.id for each in at.new}


def test_facts_that_differ_are_found_at_the_first_look(tmp_path: Path) -> None:
    at = watched(tmp_path, hosts=2)
    for host, governor in zip(at.maker.hosts, ("performance", "powersave"), strict=True):
        at.maker.add(
            HostFactsCollected(t=at.maker.t, host=host, facts={"governor": governor, "cpus": 8})
        )
    at.seconds(11)
    assert "host-differences" in at.now


def test_noise_before_the_load_is_found_while_the_load_continues(tmp_path: Path) -> None:
    maker = RunMaker(tmp_path / "runs" / RUN_ID, host_names(1), READS, runtime_s=600.0).begin()
    maker.look_at("weka-01", BUSY)
    for _ in range(3):
        maker.add(msgspec.structs.replace(maker.telemetry("weka-01", maker.t + 1.0), quiet=True))
    maker.look_at("weka-01", IDLE)
    at = Watch(maker.go())
    at.seconds(11)
    assert "background-load" in at.now


def test_a_check_that_fails_ends_neither_the_look_nor_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_: object) -> list[CheckResult]:
        raise KeyError("x")

    broken = replace(BY_ID["straggler"], of_step=fails)
    monkeypatch.setattr(
        live, "CHECKS", [broken if check.id == "straggler" else check for check in CHECKS]
    )
    at = watched(tmp_path).seconds(12)
    assert at.findings.broken == {"straggler": "internal error: KeyError('x')"}
    assert "start-skew" in at.findings.made


def test_before_ten_seconds_of_load_nothing_is_judged(tmp_path: Path) -> None:
    at = watched(tmp_path)
    at.seconds(9)
    assert not at.findings.made


def test_a_missing_host_is_reported_while_the_others_continue(tmp_path: Path) -> None:
    at = watched(tmp_path)
    at.seconds(12)
    at.maker.fail("weka-02", "host-lost", "no connection")
    at.seconds(20, lambda: at.maker.measure(1, silent=["weka-02"]))
    assert at.now[0] == "host-loss"
    assert at.findings.now[0].hosts == ["weka-02"]


def test_samples_that_come_late_leave_no_gap(tmp_path: Path) -> None:
    at = watched(tmp_path)
    at.seconds(12)
    begin = at.maker.t
    at.seconds(40, lambda: at.maker.measure(1, silent=["weka-02"]))
    end, hosts = at.maker.t, at.maker.hosts
    at.maker.t, at.maker.hosts = begin, ["weka-02"]
    at.maker.measure(40)
    at.maker.t, at.maker.hosts = end, hosts
    at.seconds(10)
    found = RunningStep(at.plan, at.plan.steps[0])
    piecewise = at.findings.steps[0].running
    fresh, grown = (
        exhaust(found.record(at.state)).series,
        exhaust(piecewise.record(at.state)).series,
    )
    assert fresh is not None and grown is not None
    assert [each.iops for each in grown.columns] == [each.iops for each in fresh.columns]
    assert "missing-samples" not in at.now


def slices_of_a_look(folder: Path, hosts: int) -> int:
    at = watched(folder, hosts)
    at.maker.measure(20)
    state = at.take().state
    return sum(1 for _ in at.findings.update_in_slices(state, state.clock.now))


def test_no_slice_of_a_look_grows_with_the_number_of_hosts_that_are_read(tmp_path: Path) -> None:
    few, many = slices_of_a_look(tmp_path / "few", 2), slices_of_a_look(tmp_path / "many", 12)
    assert many - few == 10 * 2  # of each host its figures so far, and its values over time


def test_a_load_that_begins_again_is_looked_at_before_its_first_io(tmp_path: Path) -> None:
    at = watched(tmp_path, hosts=2).seconds(12)
    again = Sample(
        t=at.maker.t + 1,
        host="weka-02",
        step=0,
        phase="measure",
        host_time_ms=0,
        interval_s=1.0,
        dirs={},
    )
    again.host_time_ms, again.restart = round((at.maker.epoch + again.t) * 1000), True
    at.maker.add(again)
    at.take()
    step = at.findings.steps[0].running
    assert list(exhaust(step.record(at.state)).results.per_host) == ["weka-01"]


def test_after_five_minutes_the_begin_is_not_judged_any_more(tmp_path: Path) -> None:
    at = watched(tmp_path, hosts=1)
    at.maker.measure(310)
    step = RunningStep(at.plan, at.plan.steps[0])
    found = exhaust(step.record(at.take().state)).series
    assert found is not None and len(found.columns[0].iops) == 300
    assert not step.series.from_begin


def test_the_bottleneck_is_that_of_the_last_ten_seconds_and_changes_at_the_second_look(
    tmp_path: Path,
) -> None:
    at = watched(tmp_path)
    for host in at.maker.hosts:
        at.maker.look_at(host, BUSY)
    at.seconds(11)
    assert bottleneck_kind(at) == "client-cpu"
    for host in at.maker.hosts:
        at.maker.look_at(host, IDLE)
    kinds = [bottleneck_kind(at.seconds(1)) for _ in range(15)]
    changed = kinds.index("storage")
    assert changed >= 5 and set(kinds[changed:]) == {"storage"}


def bottleneck_kind(at: Watch) -> str:
    return at.findings.bottlenecks[0].kind


def test_without_telemetry_the_bottleneck_is_unknown_and_its_checks_are_not_made(
    tmp_path: Path,
) -> None:
    at = watched(tmp_path).seconds(20)
    assert not at.findings.bottlenecks
    assert not at.findings.made & {"client-cpu", "network", "storage-traffic"}


def test_what_was_found_of_a_step_is_over_with_it(tmp_path: Path) -> None:
    maker = line_sweep(tmp_path)
    at = Watch(maker)
    maker.start_step(0)
    maker.look_at("weka-01", BUSY)
    at.seconds(20)
    assert "client-cpu" in at.now
    maker.looked_at = {}
    maker.end_step(0, 1000.0).start_step(1)
    at.seconds(1)
    assert "client-cpu" not in at.now and not at.findings.bottlenecks, (
        "before the new load is looked at"
    )
    at.seconds(11)
    assert "client-cpu" not in at.now
    (over,) = (each for each in at.findings.was if each.finding.id == "client-cpu")
    assert over.step == 0


def test_each_role_is_judged_whichever_is_shown(tmp_path: Path) -> None:
    maker = with_roles(tmp_path, runtime_s=SHORT_S)
    maker.look_at("h1", IDLE).look_at("h2", BUSY).look_at("h3", BUSY)
    at = Watch(maker).take()
    at.seconds(20)
    found = {
        (each.role, *each.hosts) for each in at.findings.now if each.finding.id == "client-cpu"
    }
    assert found == {("readers", "h2", "h3")}
    assert {step: each.kind for step, each in at.findings.bottlenecks.items()} == {
        0: "storage",
        1: "client-cpu",
    }
    begun = [each.since_t for each in at.findings.now]
    for step in (1, 0, 1):
        at.state.show(step)
        at.seconds(6)
    assert [each.since_t for each in at.findings.now] == begun and not at.was


def test_what_was_found_of_a_role_that_is_over_holds_until_all_are(tmp_path: Path) -> None:
    maker = with_roles(tmp_path, runtime_s=SHORT_S)
    maker.look_at("h1", BUSY).look_at("h2", IDLE).look_at("h3", IDLE)
    at = Watch(maker).take()
    at.seconds(20)
    maker.end_role(0)
    at.seconds(12, lambda: maker.measure(1, silent=["h1"]))
    assert [each.role for each in at.findings.now if each.finding.id == "client-cpu"] == ["writers"]


def test_an_attempt_that_is_made_again_is_forgotten(tmp_path: Path) -> None:
    maker = line_sweep(tmp_path)
    at = Watch(maker)
    maker.start_step(0)
    maker.look_at("weka-01", BUSY)
    at.seconds(20)
    maker.looked_at = {}
    maker.start_step(0, attempt=2)
    at.seconds(12)
    assert "client-cpu" not in [*at.now, *at.was]
