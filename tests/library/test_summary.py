from __future__ import annotations

from pathlib import Path

import pytest

from tests.record.test_record import events_of, run_dir_of, steps_of
from tests.record.test_timing import host_run
from tests.samples.events import CASES, DATA, closed, compared, run_of
from tui.library.build import build_record
from tui.model.event import HostProblem, NoteAdded, RunResumed
from tui.model.plan import Headline
from tui.view.run_summary import summary_text
from tui.view.step_notes import window_texts


def lines_of(case: str) -> list[str]:
    return summary_text(build_record(DATA / case)).splitlines()


@pytest.mark.parametrize("case", CASES)
def test_no_line_is_wider_than_a_terminal(case: str) -> None:
    assert max(len(line) for line in lines_of(case)) <= 80


def test_it_begins_with_what_ran_and_how_it_ended() -> None:
    lines = lines_of("mix")
    assert lines[:3] == [
        "20261120T101530Z-test-mix-0001",
        "test/mix v1: Recorded mix",
        "headline: mixed 16.0k IOPS; valid with warnings",
    ]
    assert lines[3].startswith("verdict: valid with warnings: ")
    assert any(line.startswith("objections: ") for line in lines[4:7])
    assert "state: complete" in lines
    assert "2026-11-20T10:15:30.250Z, 0:08, 2 hosts, target test storage" in lines
    assert "changed: runtime=3s" in lines


def test_figures_are_in_aligned_columns_all_hosts_first() -> None:
    lines = lines_of("mix")
    start = next(index for index, line in enumerate(lines) if line.startswith("read (clat)"))
    assert (
        " ".join(lines[start].split()) == "read (clat) IOPS MiB/s mean p50 p95 p99 p99.5 p99.9 max"
    )
    assert lines[start + 1].startswith(
        "all 2 hosts    8.00k     62.5   88.7µs 75.3µs  173µs  200µs"
    )
    assert [line.split()[0] for line in lines[start + 2 : start + 4]] == ["h1", "h2"]
    assert {len(line) for line in lines[start : start + 4]} == {80}


def test_a_lost_host_is_marked_and_explained() -> None:
    text = summary_text(build_record(DATA / "lost"))
    assert "state: partial: h2 was lost" in text
    assert "\nh2~ " in text
    assert "~ rebuilt from samples: no result from the tool" in text
    assert "problems:\n  h2: measure: no connection to the end" in text


def test_a_rate_that_differs_in_the_common_window_is_reported() -> None:
    text = summary_text(build_record(DATA / "lost"))
    assert "read: 39.2k IOPS (-3.9 %) while all hosts measured (1.7 s)" in text
    assert "all hosts measured" not in summary_text(build_record(DATA / "mix"))


def test_reads_and_writes_without_a_total_are_named() -> None:
    (step,) = build_record(DATA / "mix").steps
    dirs = step.results.aggregate
    assert {"read", "write", "mixed"} <= dirs.keys()
    apart = {name: dirs[name] for name in ("read", "write")}
    for found, named in ((dirs, False), (apart, True), ({"read": dirs["read"]}, False)):
        assert any("no mixed total" in text for text in window_texts(step, found)) is named


def test_how_far_hosts_started_apart_and_measured_together_is_reported_with_its_uncertainty(
    tmp_path: Path,
) -> None:
    events = [
        *(compared(host, 0.0, 0.003) for host in ("h1", "h2")),
        *host_run("h1", 10.0, 40.0),
        *host_run("h2", 10.4, 40.7),
        closed(42.0),
    ]
    lines = summary_text(build_record(run_of(tmp_path, ["h1", "h2"], events))).splitlines()
    assert "start skew 0.400 s ± 0.008 s, end skew 0.700 s ± 0.008 s; common window 29.6 s" in lines
    assert any(line.startswith("verdict: valid: 2 notes; ") for line in lines)
    assert "measured 30.3 s" in lines


def test_one_host_has_no_line_about_skew(tmp_path: Path) -> None:
    text = summary_text(
        build_record(run_of(tmp_path, ["h1"], [*host_run("h1", 10.0, 40.0), closed(42.0)]))
    )
    assert "skew" not in text


def test_findings_are_below_the_verdict(tmp_path: Path) -> None:
    events = [*host_run("h1", 10.0, 40.0), *host_run("h2", 15.0, 45.0), closed(46.0)]
    text = summary_text(build_record(run_of(tmp_path, ["h1", "h2"], events)))
    assert "INVALID: 1 error, 2 notes; " in text
    assert "\nfindings:\n  error start-skew: hosts started 5.00 s apart (by arrival: clocks" in text


def test_a_run_that_was_taken_over_says_when_and_after_which_gap(tmp_path: Path) -> None:
    resumed = RunResumed(t=20.0, utc="2026-11-20T10:00:20Z", gap_s=4.25)
    text = summary_text(
        build_record(run_of(tmp_path, ["h1"], [*host_run("h1", 10.0, 40.0), resumed, closed(42.0)]))
    )
    assert "taken over: 2026-11-20T10:00:20.000Z, after 4.2 s without an engine" in text


def test_files_left_behind_are_named_with_their_size() -> None:
    assert "files left behind:\n  h1 (48 MiB): /mnt/test, /mnt/test/h1.0" in summary_text(
        build_record(DATA / "mix")
    )


def test_the_place_of_the_record_is_named_when_there_is_one() -> None:
    record = build_record(DATA / "mix")
    assert summary_text(record, Path("/runs/x/run.json")).endswith("\nrecord: /runs/x/run.json\n")
    assert "record:" not in summary_text(record)


def test_a_running_run_is_not_called_partial() -> None:
    text = summary_text(build_record(DATA / "mix"), running=True)
    assert "state: running" in text
    assert "complete" not in text


def test_what_others_wrote_cannot_steer_the_terminal(tmp_path: Path) -> None:
    problem = HostProblem(t=5.0, host="h1", phase="measure", code="x", message="\x1b[2Jgone\x07")
    events = [*events_of("mix"), problem, NoteAdded(t=9.0, text="\x1b]0;title\x07note")]
    text = summary_text(build_record(run_dir_of("mix", tmp_path / "run", events)))
    assert "gone" in text
    assert all(char.isprintable() or char == "\n" for char in text)


def test_long_texts_are_wrapped(tmp_path: Path) -> None:
    events = [*events_of("mix"), NoteAdded(t=9.0, text="word " * 60)]
    text = summary_text(build_record(run_dir_of("mix", tmp_path / "run", events)))
    assert max(len(line) for line in text.splitlines()) <= 80
    assert text.count("word") == 60


def test_a_sweep_is_one_line_a_point_named_by_what_varies(tmp_path: Path) -> None:
    record = steps_of(tmp_path, [100.0] * 6, repeated=False, headline=Headline("iops", "read"))
    lines = summary_text(record).splitlines()
    points = [line for line in lines if line.startswith("bs=")]
    words = [line.replace(" INVALID ", " ").split() for line in points]
    assert [each[:3] for each in words] == [[f"bs={4 * n}k", "read", "200"] for n in range(1, 7)]
    # hosts that began apart
    assert "INVALID" in points[0] and not any("INVALID" in line for line in points[1:])
    assert "headline: read 200 IOPS (step ramp); INVALID" in lines


def test_a_run_that_measured_nothing_has_a_summary(tmp_path: Path) -> None:
    text = summary_text(build_record(run_dir_of("mix", tmp_path / "run", [])))
    assert "state: failed" in text
    assert "headline" not in text
