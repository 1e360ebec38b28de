from __future__ import annotations

import json
import shutil
from itertools import accumulate
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.app.journal_maker import made_of
from tests.samples.events import CASES, DATA, measured_in, sample
from tui.journal.fold import fold
from tui.journal.rundir import load_plan
from tui.journal.state import RunState
from tui.library.build import build_record, write_record
from tui.library.load import load_record
from tui.metrics.histogram import Histogram
from tui.model.dense import listed
from tui.model.event import (
    AnyEvent,
    FileCreated,
    FilesRemoved,
    HostFactsCollected,
    HostProblem,
    HostResult,
    LatencyResult,
    Message,
    NoteAdded,
    PhaseEnded,
    PhaseStarted,
    RunEnded,
    Sample,
    StopRequested,
    decode,
    encode,
)
from tui.model.figure_record import CodedText
from tui.model.plan import Headline, Plan
from tui.model.problem import BenchtuiError
from tui.model.record import RunRecord, run_json_schema
from tui.record.figures import rebuild
from tui.record.headline import told_headline

SCHEMA = run_json_schema()
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
LINES = {
    case: (DATA / case / "journal.jsonl").read_bytes().splitlines(keepends=True) for case in CASES
}


def run_dir_of(
    case: str, to: Path, events: list[AnyEvent] | None = None, plan: Plan | None = None
) -> Path:
    """Return a run directory with a recorded journal, or with other events and the same plan."""
    to.mkdir(exist_ok=True)
    shutil.copy(DATA / case / "plan.json", to)
    if plan is not None:
        (to / "plan.json").write_bytes(msgspec.json.encode(plan))
    lines = LINES[case] if events is None else [encode(event) for event in events]
    (to / "journal.jsonl").write_bytes(b"".join(lines))
    return to


def events_of(case: str) -> list[AnyEvent]:
    return [decode(line) for line in LINES[case]]


def valid(record: RunRecord) -> dict[str, Any]:
    """Check a record against the schema, after the way it takes through a file, and return its
    JSON.
    """
    document: dict[str, Any] = json.loads(record.to_json())
    VALIDATOR.validate(document)
    return document


def test_the_schema_is_one_and_describes_every_field() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    for name, part in [("RunRecord", SCHEMA), *SCHEMA["$defs"].items()]:
        assert part.get("description"), name
        for field, properties in part["properties"].items():
            assert properties.get("description"), f"{name}.{field}"


@pytest.mark.parametrize("case", CASES)
def test_the_record_of_a_recorded_run_is_valid(case: str, tmp_path: Path) -> None:
    document = valid(build_record(run_dir_of(case, tmp_path / "run")))
    assert document["schema"] == "benchtui.run/1"
    assert document["run_id"] == f"20261120T101530Z-test-{case}-0001"
    assert document["created_utc"] == "2026-11-20T10:15:30.250Z"
    whole = {"events": len(LINES[case]), "unread_bytes": 0, "ended": True, "damaged_lines": 0}
    assert document["provenance"]["journal"] == whole


def test_figures_of_a_host_are_those_that_the_tool_printed(tmp_path: Path) -> None:
    record = build_record(run_dir_of("mix", tmp_path / "run"))
    printed = {event.host: event for event in events_of("mix") if isinstance(event, HostResult)}
    for host, result in printed.items():
        for direction in ("read", "write"):
            ours, theirs = record.steps[0].results.per_host[host][direction], result.dirs[direction]
            assert (ours.ios, ours.bytes, ours.runtime_s) == (
                theirs.ios,
                theirs.bytes,
                theirs.runtime_s,
            )
            assert ours.iops == pytest.approx(theirs.iops, abs=1e-3)
            assert ours.clat is not None and theirs.clat is not None
            assert ours.clat.percentiles_ns == theirs.clat.percentiles_ns
            assert not ours.from_samples


def test_the_aggregate_adds_counts_and_merges_buckets(tmp_path: Path) -> None:
    results = build_record(run_dir_of("mix", tmp_path / "run")).steps[0].results
    whole, parts = (
        results.aggregate["read"],
        [results.per_host[host]["read"] for host in ("h1", "h2")],
    )
    assert whole.hosts == ["h1", "h2"]
    assert whole.ios == sum(part.ios for part in parts)
    assert whole.iops == pytest.approx(sum(part.iops or 0 for part in parts), abs=0.01)
    merged = Histogram()
    for part in parts:
        assert part.clat is not None and part.clat.histogram is not None
        merged.merge(
            Histogram(dict(zip(part.clat.histogram.idx, part.clat.histogram.n, strict=True)))
        )
    assert whole.clat is not None
    assert whole.clat.percentiles_ns == merged.percentiles(at_most=whole.clat.max_ns)
    assert " ".join(whole.clat.percentiles_ns) == "1 5 10 25 50 75 90 95 99 99.5 99.9 99.95 99.99"
    assert whole.clat.max_ns == max(part.clat.max_ns or 0 for part in parts if part.clat)


def test_mixed_is_reads_and_writes_together(tmp_path: Path) -> None:
    aggregate = build_record(run_dir_of("mix", tmp_path / "run")).steps[0].results.aggregate
    read, write, mixed = aggregate["read"], aggregate["write"], aggregate["mixed"]
    assert mixed.ios == read.ios + write.ios
    assert read.clat and write.clat and mixed.clat
    assert mixed.clat.n == read.clat.n + write.clat.n
    assert mixed.clat.mean_ns == pytest.approx(
        ((read.clat.mean_ns or 0) * read.clat.n + (write.clat.mean_ns or 0) * write.clat.n)
        / mixed.clat.n,
        abs=0.01,
    )


def test_one_direction_has_no_mixed(tmp_path: Path) -> None:
    results = build_record(run_dir_of("ramp", tmp_path / "run")).steps[0].results
    assert list(results.aggregate) == ["read"]
    assert results.per_job is None


def test_the_rate_in_the_common_window_is_what_the_job_was_limited_to(tmp_path: Path) -> None:
    """The jobs ran with rate_iops, so that every second is alike."""
    read = build_record(run_dir_of("mix", tmp_path / "run")).steps[0].results.aggregate["read"]
    assert read.interval is not None
    assert 2.0 < read.interval.end_s - read.interval.start_s <= 3.1
    assert read.iops_window == pytest.approx(2 * 2 * 2000, rel=0.01)


def test_ramp_is_neither_in_the_figures_nor_in_the_series(tmp_path: Path) -> None:
    step = build_record(run_dir_of("ramp", tmp_path / "run")).steps[0]
    assert step.results.aggregate["read"].ios == pytest.approx(2 * 3 * 2000, rel=0.01)
    assert step.series is not None
    ramp_end = min(
        event.t for event in events_of("ramp") if isinstance(event, Sample) and not event.ramp
    )
    assert step.series.start_s > ramp_end - 1.5
    values = [
        value for column in step.series.columns if column.host == "h1" for value in column.iops
    ]
    assert [value for value in values if value is not None] == pytest.approx(
        [2000.0, 2000.0], rel=0.01
    )


def test_columns_of_a_series_have_one_length_and_cluster_comes_first(tmp_path: Path) -> None:
    for case in CASES:
        series = build_record(run_dir_of(case, tmp_path / case)).steps[0].series
        assert series is not None
        arrays = [
            (column.iops, column.bw_bytes_per_s, column.lat_mean_ns) for column in series.columns
        ]
        lengths = {len(values) for each in arrays for values in each}
        assert lengths == {len(series.columns[0].p99_ns)}
        assert series.columns[0].host is None
        assert {column.host for column in series.columns} == {None, "h1", "h2"}


def test_cluster_values_are_the_sums_of_the_hosts(tmp_path: Path) -> None:
    series = build_record(run_dir_of("mix", tmp_path / "run")).steps[0].series
    assert series is not None
    reads = {column.host: column.iops for column in series.columns if column.direction == "read"}
    for whole, *parts in zip(reads[None], reads["h1"], reads["h2"], strict=True):
        assert whole == pytest.approx(sum(part or 0.0 for part in parts), rel=1e-4)


def test_a_host_without_a_result_is_rebuilt_from_its_samples_and_says_so(tmp_path: Path) -> None:
    record = build_record(run_dir_of("lost", tmp_path / "run"))
    lost = record.steps[0].results.per_host["h2"]["read"]
    samples = [
        event for event in events_of("lost") if isinstance(event, Sample) and event.host == "h2"
    ]
    assert lost.from_samples
    assert lost.ios == sum(each.dirs["read"].ios for each in samples)
    assert lost.runtime_s == pytest.approx(sum(each.interval_s for each in samples), abs=1e-3)
    assert lost.clat is not None
    assert lost.clat.n == sum(sum(listed(each.dirs["read"].lat).n) for each in samples)
    assert lost.short_ios is None
    assert not record.steps[0].results.per_host["h1"]["read"].from_samples
    assert record.steps[0].results.aggregate["read"].from_samples
    assert record.state == "partial"
    assert [(error.host, error.code) for error in record.steps[0].errors] == [("h2", "host-lost")]


def test_rebuilding_from_samples_comes_close_to_what_the_tool_counts(tmp_path: Path) -> None:
    events = events_of("mix")
    state = RunState(for_record=True)
    for event in events:
        fold(state, event)
    for host, result in state.steps[0].results.items():
        for direction, theirs in result.dirs.items():
            ours = rebuild(measured_in(state).hosts[host][direction], "clat")
            assert ours.ios == theirs.ios
            # the last object comes 0.15 s after the load
            assert ours.iops == pytest.approx(theirs.iops, rel=0.06)
            assert ours.clat is not None and theirs.clat is not None
            assert ours.clat.mean_ns == pytest.approx(theirs.clat.mean_ns, rel=0.01)
            assert ours.clat.stddev_ns == pytest.approx(theirs.clat.stddev_ns, rel=0.02)
            assert ours.clat.min_ns == pytest.approx(theirs.clat.min_ns, rel=1 / 128)


def state_of(tmp_path: Path, case: str, *changes: AnyEvent, drop: tuple[type, ...] = ()) -> str:
    """Return the state of a recorded run without events of some kinds, with others before its last
    one.
    """
    events = [event for event in events_of(case) if not isinstance(event, drop)]
    closed = bool(events) and isinstance(events[-1], RunEnded)
    events = [*events[:-1], *changes, events[-1]] if closed else [*events, *changes]
    record = build_record(run_dir_of(case, tmp_path / "run", events))
    valid(record)
    return record.state


def test_complete_needs_every_result(tmp_path: Path) -> None:
    assert state_of(tmp_path, "mix") == "complete"
    assert state_of(tmp_path, "mix", drop=(HostResult,)) == "partial"


def test_complete_needs_results_without_errors_that_are_final(tmp_path: Path) -> None:
    result = next(event for event in events_of("mix") if isinstance(event, HostResult))
    assert state_of(tmp_path, "mix", msgspec.structs.replace(result, errors=[5])) == "partial"
    assert state_of(tmp_path, "mix", msgspec.structs.replace(result, final=False)) == "partial"


def test_a_journal_that_was_not_closed_is_partial_and_says_why(tmp_path: Path) -> None:
    assert state_of(tmp_path, "mix", drop=(RunEnded,)) == "partial"
    record = load_record(tmp_path / "run")
    assert record.exit_code is None
    assert record.reason == CodedText(code="not-closed")


def test_the_engine_can_make_the_state_worse_but_not_better(tmp_path: Path) -> None:
    assert (
        state_of(tmp_path, "mix", RunEnded(t=9.0, state="partial", exit_code=4), drop=(RunEnded,))
        == "partial"
    )
    nothing = (HostResult, Sample, RunEnded)
    assert (
        state_of(tmp_path, "mix", RunEnded(t=9.0, state="complete", exit_code=0), drop=nothing)
        == "failed"
    )


def test_nothing_measured_is_failed(tmp_path: Path) -> None:
    assert state_of(tmp_path, "mix", drop=(HostResult, Sample)) == "failed"


def test_an_abort_is_aborted_whatever_was_measured(tmp_path: Path) -> None:
    closed = RunEnded(t=9.0, state="aborted", exit_code=4)
    assert state_of(tmp_path, "mix", closed, drop=(RunEnded,)) == "aborted"
    assert (
        state_of(tmp_path, "mix", StopRequested(t=7.0, mode="abort"), drop=(RunEnded,)) == "aborted"
    )
    nothing = (HostResult, Sample, RunEnded)
    assert state_of(tmp_path, "mix", StopRequested(t=1.0, mode="abort"), drop=nothing) == "aborted"


def test_an_abort_that_came_when_all_was_over_has_no_effect(tmp_path: Path) -> None:
    assert state_of(tmp_path, "mix", StopRequested(t=7.0, mode="abort")) == "complete"


def test_an_error_number_without_an_explanation_is_named(tmp_path: Path) -> None:
    result = next(event for event in events_of("mix") if isinstance(event, HostResult))
    state_of(tmp_path, "mix", msgspec.structs.replace(result, errors=[28]))
    errors = load_record(tmp_path / "run").steps[0].errors
    assert [(error.host, error.code) for error in errors] == [("h1", "tool-error")]
    assert "ENOSPC" in errors[0].message


@pytest.mark.parametrize("case", CASES)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_any_prefix_of_a_journal_gives_a_valid_record(
    case: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    whole = b"".join(LINES[case])
    check_prefix(case, data.draw(st.integers(0, len(whole))), tmp_path_factory.mktemp("cut"))


@pytest.mark.parametrize("case", CASES)
def test_a_journal_cut_at_or_beside_any_line_end_gives_a_valid_record(
    case: str, tmp_path: Path
) -> None:
    for end in list(accumulate(map(len, LINES[case])))[::3]:
        for cut in (end - 1, end, end + 1):
            check_prefix(case, cut, tmp_path)


def check_prefix(case: str, cut: int, tmp_path: Path) -> None:
    """Cut a journal after so many bytes.

    The record must hold every complete event before the cut, and no more.
    """
    prefix = b"".join(LINES[case])[:cut]
    run_dir = run_dir_of(case, tmp_path / "run")
    (run_dir / "journal.jsonl").write_bytes(prefix)
    document = valid(build_record(run_dir))
    events = [decode(line) for line in prefix.splitlines(keepends=True) if line.endswith(b"\n")]
    ended = any(isinstance(event, RunEnded) for event in events)
    assert document["provenance"]["journal"]["events"] == len(events)
    assert document["provenance"]["journal"]["ended"] == ended
    assert ended or document["state"] in ("partial", "failed")
    results = document["steps"][0]["results"]["per_host"]
    for host in ("h1", "h2"):
        expected = expected_ios(events, host)
        found = {
            name: part["ios"] for name, part in results.get(host, {}).items() if name != "mixed"
        }
        assert found == expected, f"{host} of {case} cut at {cut}"
    facts = sum(bool(host["facts"]) for host in document["hosts"])
    assert facts == sum(isinstance(event, HostFactsCollected) for event in events)


def expected_ios(events: list[AnyEvent], host: str) -> dict[str, int]:
    """Return the I/Os by direction that a journal holds of a host: its result, else its samples
    after the ramp.
    """
    counts: dict[str, int] = {}
    for event in events:
        if isinstance(event, Sample) and event.host == host and event.phase == "measure":
            counts = {} if event.restart else counts
            for name, part in event.dirs.items():
                counts[name] = counts.get(name, 0) + (0 if event.ramp else part.ios)
        if isinstance(event, HostResult) and event.host == host:
            return {name: part.ios for name, part in event.dirs.items() if part.ios}
    return {name: count for name, count in counts.items() if count}


def test_a_run_that_never_wrote_a_journal_has_a_record(tmp_path: Path) -> None:
    run_dir = run_dir_of("mix", tmp_path / "20261120T101530Z-test-mix-0001")
    (run_dir / "journal.jsonl").unlink()
    document = valid(build_record(run_dir))
    assert (document["state"], document["created_utc"]) == ("failed", None)
    assert document["run_id"] == "20261120T101530Z-test-mix-0001"


def test_a_directory_without_a_plan_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(BenchtuiError, match=r"plan\.json: does not exist; without it the run can"):
        build_record(tmp_path)


def test_writing_puts_a_private_file_in_place_whole(tmp_path: Path) -> None:
    run_dir = run_dir_of("mix", tmp_path / "run")
    record = write_record(run_dir)
    path = run_dir / "run.json"
    assert path.stat().st_mode & 0o777 == 0o600
    assert json.loads(path.read_text()) == json.loads(record.to_json())
    assert sorted(file.name for file in run_dir.iterdir()) == [
        "journal.jsonl",
        "plan.json",
        "run.json",
        "summary.json",
    ]


def test_a_record_reads_back_as_it_was_written(tmp_path: Path) -> None:
    run_dir = run_dir_of("mix", tmp_path / "run")
    assert write_record(run_dir) == load_record(run_dir)


def test_a_reader_ignores_what_it_does_not_know(tmp_path: Path) -> None:
    run_dir = run_dir_of("mix", tmp_path / "run")
    record = write_record(run_dir)
    document = json.loads(record.to_json())
    document["weather"] = "fair"
    document["hosts"][0]["mood"] = "good"
    (run_dir / "run.json").write_text(json.dumps(document))
    assert load_record(run_dir) == record


def test_a_damaged_record_is_one_clear_line(tmp_path: Path) -> None:
    run_dir = run_dir_of("mix", tmp_path / "run")
    (run_dir / "run.json").write_text('{"run_id": "x", "state": "great", "profile": {"tag": ""}}')
    with pytest.raises(
        BenchtuiError, match=r"run\.json: not a run record: state: Input should be 'complete'"
    ):
        load_record(run_dir)


def test_notes_are_dated_by_the_wall_clock_and_do_not_stretch_the_run(tmp_path: Path) -> None:
    events = [*events_of("mix"), NoteAdded(t=86400.0, text="looks good")]
    record = build_record(run_dir_of("mix", tmp_path / "run", events))
    assert [note.text for note in record.notes] == ["a recorded run", "looks good"]
    assert record.notes[1].utc == "2026-11-21T10:15:30.250Z"
    assert record.duration_s is not None and record.duration_s < 60


def test_files_stay_in_the_record_until_a_cleanup_removed_them(tmp_path: Path) -> None:
    left = build_record(run_dir_of("mix", tmp_path / "run")).hosts[0].files_left
    assert left is not None
    assert (left.paths, left.bytes) == (["/mnt/test", "/mnt/test/h1.0"], 48 << 20)
    cleanup: list[AnyEvent] = [
        PhaseStarted(t=8.0, phase="cleanup"),
        PhaseEnded(t=8.1, phase="cleanup"),
    ]
    warning = Message(t=8.05, severity="warning", host="h2", text="files not removed: busy")
    events = [*events_of("mix")[:-1], cleanup[0], warning, cleanup[1], events_of("mix")[-1]]
    hosts = build_record(run_dir_of("mix", tmp_path / "run", events)).hosts
    assert hosts[0].files_left is None
    assert hosts[1].files_left is not None


def test_what_a_cleanup_did_not_remove_is_left(tmp_path: Path) -> None:
    gone = FilesRemoved(t=8.05, host="h1", paths=["/mnt/test/h1.0"], bytes=48 << 20)
    cleanup: list[AnyEvent] = [
        PhaseStarted(t=8.0, phase="cleanup"),
        gone,
        PhaseEnded(t=8.1, phase="cleanup"),
    ]
    events = [*events_of("mix")[:-1], *cleanup, events_of("mix")[-1]]
    left = build_record(run_dir_of("mix", tmp_path / "run", events)).hosts[0].files_left
    assert left is not None and (left.paths, left.bytes) == (["/mnt/test"], 0)


def test_a_file_that_the_load_did_not_make_is_neither_left_nor_removed(tmp_path: Path) -> None:
    absent = FilesRemoved(t=7.9, host="h1", paths=["/mnt/test/h1.0"], bytes=48 << 20, absent=True)
    events = [*events_of("mix")[:-1], absent, events_of("mix")[-1]]
    host = build_record(run_dir_of("mix", tmp_path / "run", events)).hosts[0]
    assert host.files_left is not None and host.files_left.paths == ["/mnt/test"]
    assert (host.files_left.bytes, host.files_removed) == (0, [])


def test_a_path_that_was_made_twice_is_counted_once(tmp_path: Path) -> None:
    again = FileCreated(t=5.0, host="h1", paths=["/mnt/test/h1.0"], bytes=48 << 20)
    events = [*events_of("mix")[:-1], again, events_of("mix")[-1]]
    left = build_record(run_dir_of("mix", tmp_path / "run", events)).hosts[0].files_left
    assert left is not None and left.bytes == 48 << 20


@pytest.mark.parametrize(
    ("headline", "text"),
    [
        (Headline("iops", "read"), "read 8.00k IOPS"),
        (Headline("bandwidth", "write"), "write 62.5 MiB/s"),
        (Headline("latency", "read"), "read mean 88.7 µs"),
        (Headline("latency", "mixed", 99.5), "mixed p99.5 200 µs"),
        # not in the record's list: from its histogram
        (Headline("latency", "read", 97.0), "read p97 181 µs"),
    ],
)
def test_the_headline_is_the_figure_that_the_profile_names(
    headline: Headline, text: str, tmp_path: Path
) -> None:
    plan = load_plan(DATA / "mix")
    plan.headline = headline
    record = build_record(run_dir_of("mix", tmp_path / "run", plan=plan))
    assert told_headline(record) == text
    assert record.headline is not None and record.headline.step == 0


def steps_of(tmp_path: Path, iops: list[float], *, repeated: bool, headline: Headline) -> RunRecord:
    """Return the record of a run with one step a figure."""
    plan, events = load_plan(DATA / "ramp"), events_of("ramp")
    result = next(event for event in events if isinstance(event, HostResult))
    step = plan.steps[0]
    plan.headline, plan.steps = headline, []
    added: list[AnyEvent] = []
    for index, value in enumerate(iops):
        params = {"bs": "8k"} if repeated else {"bs": f"{4 * (index + 1)}k"}
        repetition = index + 1 if repeated else 1
        plan.steps.append(
            msgspec.structs.replace(step, index=index, params=params, repetition=repetition)
        )
        for number, host in enumerate(("h1", "h2")):
            read = made_of(result.dirs["read"], round(value * 5), round(value * 5) * 8192, 5.0)
            assert read.lat is not None and read.lat.stddev_ns is not None
            own = msgspec.structs.replace(
                read.lat, stddev_ns=read.lat.stddev_ns + 2 * index + number
            )
            # no two hosts wait alike to the nanosecond
            read = msgspec.structs.replace(read, lat=own)
            added.append(
                msgspec.structs.replace(result, host=host, step=index, dirs={"read": read})
            )
    return build_record(
        run_dir_of("ramp", tmp_path / "run", [*events[:-1], *added, events[-1]], plan)
    )


def test_the_headline_of_a_sweep_is_its_best_point(tmp_path: Path) -> None:
    record = steps_of(
        tmp_path, [100.0, 300.0, 200.0], repeated=False, headline=Headline("iops", "read")
    )
    assert [step.headline for step in record.steps] == [200.0, 600.0, 400.0]
    assert record.headline is not None
    assert (record.headline.value, record.headline.step) == (600.0, 1)


def test_the_headline_of_repetitions_is_their_median(tmp_path: Path) -> None:
    record = steps_of(
        tmp_path, [100.0, 300.0, 200.0], repeated=True, headline=Headline("iops", "read")
    )
    assert record.headline is not None
    assert (record.headline.value, record.headline.step) == (400.0, 2)


def test_the_headline_of_a_latency_sweep_is_its_quickest_point(tmp_path: Path) -> None:
    plan, events = load_plan(DATA / "ramp"), events_of("ramp")
    slow = next(event for event in events if isinstance(event, HostResult))
    read = slow.dirs["read"]
    assert read.clat is not None
    n = read.clat.n
    quick = {
        host: msgspec.structs.replace(read, clat=LatencyResult(n, 7, 7 + place, 7.0, 0.0), lat=None)
        for place, host in enumerate(("h1", "h2"))
    }
    plan.headline = Headline("latency", "read")
    plan.steps = [
        msgspec.structs.replace(plan.steps[0], index=index, params={"bs": index})
        for index in (0, 1)
    ]
    added = [
        msgspec.structs.replace(slow, host=host, step=1, dirs={"read": quick[host]})
        for host in quick
    ]
    headline = build_record(
        run_dir_of("ramp", tmp_path / "run", [*events[:-1], *added, events[-1]], plan)
    ).headline
    assert headline is not None
    assert (headline.value, headline.step) == (7.0, 1)


def test_a_host_clock_that_is_ahead_has_a_positive_offset(tmp_path: Path) -> None:
    """The run is dated 2026-11-20T10:15:30Z.

    The host stamps its samples a minute later than the jump host would.
    """
    created_s = 1795169730.25
    stamped = sample(6.0, "h1", [1000], clock_s=created_s + 60.0)
    events = [*events_of("mix")[:1], PhaseStarted(t=5.0, phase="measure", step=0), stamped]
    clock = build_record(run_dir_of("mix", tmp_path / "run", events)).hosts[0].clock
    assert clock is not None
    assert clock.offset_s == pytest.approx(60.0, abs=0.01)


def test_an_error_number_that_was_explained_is_not_named_twice(tmp_path: Path) -> None:
    result = next(event for event in events_of("mix") if isinstance(event, HostResult))
    explained = HostProblem(
        t=7.9, host="h1", phase="measure", code="fio-error-28", message="no space", fatal=False
    )
    events = [
        *events_of("mix")[:-4],
        msgspec.structs.replace(result, errors=[28]),
        explained,
        *events_of("mix")[-4:],
    ]
    errors = build_record(run_dir_of("mix", tmp_path / "run", events)).steps[0].errors
    assert [error.code for error in errors] == ["fio-error-28"]
