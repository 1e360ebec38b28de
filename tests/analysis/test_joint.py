"""Reads and writes with one histogram for both, direction `both`: what judges figures judges
these.
"""

from __future__ import annotations

from tests.samples.evidence import direction, evidence, found
from tests.samples.records import latency_of
from tui.analysis.compare import compare
from tui.analysis.criteria import judge
from tui.analysis.measured import points_of
from tui.model.criteria import parse_criterion
from tui.model.figure_record import AggregateRecord, ResultsRecord, SeriesColumns, SeriesRecord
from tui.model.plan import Headline
from tui.model.record import HeadlineRecord, ProfileRecord, RunRecord
from tui.model.step_record import StepRecord
from tui.view.objection_evidence import merged, stragglers

USUAL = [100_000 + 10 * at for at in range(5_000)]


def joint(slower: int = 1, iops: float = 1000.0) -> dict[str, AggregateRecord]:
    """What one host did: half reads, half writes, each I/O once in the one histogram."""
    waits = [wait * slower for wait in USUAL]
    half = len(waits) // 2
    alone = {
        name: AggregateRecord(
            hosts=["h1"], ios=half, bytes=half * 4096, iops=iops / 2, bw_bytes_per_s=2048 * iops
        )
        for name in ("read", "write")
    }
    whole = AggregateRecord(
        hosts=["h1"], ios=len(waits), bytes=len(waits) * 4096, iops=iops,
        bw_bytes_per_s=4096 * iops,
        clat=latency_of(waits),
    )  # fmt: skip
    return {**alone, "both": whole}


def run(name: str, slower: int = 1, hosts: int = 1) -> RunRecord:
    dirs = joint(slower)
    seconds = [1000.0 + at % 7 for at in range(60)]
    columns = [
        SeriesColumns(
            host=None, direction="both", iops=list(seconds), lat_mean_ns=[125_000.0 * slower] * 60
        )
    ]
    step = StepRecord(
        index=0, name="s", state="done", runtime_s=60.0, measured_s=60.0, headline=None,
        results=ResultsRecord(aggregate=dirs, per_host={f"h{at}": dict(dirs) for at in range(1,
            hosts + 1)}),
        series=SeriesRecord(start_s=0.0, columns=columns),
    )  # fmt: skip
    return RunRecord(
        run_id=name, state="complete", profile=ProfileRecord(tag="my/joint"), steps=[step],
        headline=HeadlineRecord(metric="latency", direction="mixed", percentile=99.0, value=None,
            unit="ns"),
    )  # fmt: skip


def test_a_straggler_by_the_tail_of_both_is_found() -> None:
    (only,) = found("straggler", evidence({"h1": joint(), "h2": joint(), "h3": joint(slower=5)}))
    assert (only.scope["direction"], only.scope["hosts"], only.measured) == ("both", "h3", 5.05)


def test_a_straggler_by_rate_is_found_once_and_not_for_reads_and_writes_again() -> None:
    slow = found("straggler", evidence({"h1": joint(), "h2": joint(), "h3": joint(iops=100.0)}))
    assert [each.scope["direction"] for each in slow] == ["both"]


def test_reads_and_writes_with_latencies_of_their_own_are_judged_apart() -> None:
    def host(rate: float) -> dict[str, AggregateRecord]:
        return {"read": direction(rate, 1e6), "write": direction(1000.0, 1e6)}

    (only,) = found(
        "straggler", evidence({"h1": host(1000.0), "h2": host(1000.0), "h3": host(100.0)})
    )
    assert only.scope["direction"] == "read"


def test_compare_holds_the_joint_latency_against_the_other_run() -> None:
    found = compare([run("20260101T000000Z-a")], [run("20260102T000000Z-b", slower=2)])
    told = {
        (each.figure.metric, each.figure.direction) for each in found.changes if each.a is not None
    }
    assert ("latency", "both") in told and ("latency", "read") not in told
    assert ("iops", "both") not in told, "its I/Os are those of reads and writes"
    (headline,) = [each for each in found.changes if each.headline]
    assert headline.a is not None and headline.b is not None and 1.9 < headline.b / headline.a < 2.1


def test_a_figure_of_reads_and_writes_together_is_that_of_both() -> None:
    ((attempt,),) = [point.attempts for point in points_of([run("20260101T000000Z-a")]).values()]
    figure = Headline("latency", "mixed", 99.0)
    latency, column = attempt.latency(figure), attempt.series(figure)
    assert latency is not None and latency.n == len(USUAL)
    assert column is not None and column.direction == "both"


def test_thresholds_hold_for_the_joint_latency_and_count_no_io_twice() -> None:
    wanted = [parse_criterion(text) for text in ("p99 > 1ms", "mixed.p99 > 1us", "iops > 900")]
    judged = judge([], [run("20260101T000000Z-a")], wanted)
    assert [(each.criterion, each.outcome) for each in judged] == [
        ("p99 > 1ms", "kept"), ("mixed.p99 > 1us", "broken"), ("iops > 900", "kept"),
        ("iops > 900", "kept"),
    ]  # fmt: skip


def test_objections_look_at_the_joint_latency() -> None:
    two = run("20260101T000000Z-a", hosts=2)
    whole = two.steps[0].results
    whole.aggregate["both"] = whole.aggregate["both"].model_copy(
        update={"clat": latency_of([*USUAL, *USUAL])}
    )
    text = " ".join(each.text for look in (merged, stragglers) for each in look(two, two.steps[0]))
    assert "both p99" in text and "histograms of 2 hosts" in text
    assert "both IOPS" in text and "median host" in text and "read IOPS" not in text
