"""A metadata benchmark while it goes on, in the record, and as text."""

from __future__ import annotations

from pathlib import Path

import pytest

from tui.analysis.measured import PointRepetition
from tui.journal.progress import MetadataView
from tui.journal.state import RunState
from tui.judge.check import RunEvidence
from tui.judge.operations import iterations, rank_shift
from tui.judge.wording import message_of
from tui.model.event import MetadataIteration, MetadataPhase, MetadataResult, OperationResult
from tui.model.plan import Headline, HostTask, MpiLaunch, Plan, ProfileRef, Step
from tui.model.record import ProfileRecord, RunRecord
from tui.model.step_record import StepRecord
from tui.record.headline import meanings, metadata_record, operation_value
from tui.record.timeline import JournalData
from tui.view.operation_tables import (
    metadata_lines,
    metadata_notes,
    metadata_tables,
    progress_text,
    rates_of,
)
from tui.workloads.mdtest.output import MdtestOutput

MDTEST = Path(__file__).parents[1] / "data" / "mdtest"
RUN = RunRecord(run_id="r", created_utc=None, profile=ProfileRecord(tag="x"), state="complete")
STEP = Step(
    0,
    "x",
    "mdtest",
    {},
    [HostTask(f"h{n}", 0, "", []) for n in (1, 2)],
    None,
    mpi=MpiLaunch("/d", 2, 100, 3),
)


def phase(name: str, t: float, iteration: int = 1, **more: object) -> MetadataPhase:
    return MetadataPhase(t=t, step=0, phase=name, iteration=iteration, iterations=3, **more)  # type: ignore[arg-type]


def running() -> MetadataView:
    view = MetadataView(0)
    view.enter(phase("create", 10.0))
    view.enter(phase("stat", 20.0, ended="create", ops=400, seconds=10.0))
    return view


def result(**changed: object) -> MetadataResult:
    operations = {
        "create": OperationResult(
            max=50.0, min=40.0, mean=45.0, stddev=5.0, iterations=[40.0, 50.0]
        )
    }
    known = {
        "tasks": 4,
        "nodes": 2,
        "items": 100,
        "iterations": 3,
        "version": "4.0.0",
        "operations": operations,
    }
    return MetadataResult(t=0.0, step=0, tool="mdtest", **(known | changed))  # type: ignore[arg-type]


def test_a_phase_that_ended_is_estimated_until_mdtest_tells() -> None:
    view = running()
    assert progress_text(view, 25.0) == "iteration 1 of 3: stat, 0:05; create ~40 ops/s"
    view.end_iteration(
        MetadataIteration(t=30.0, step=0, operation="create", iteration=1, seconds=9.5, rate=42.1)
    )
    assert rates_of(view, 1) == ["create 42.1"]


def test_nothing_is_known_before_the_first_phase() -> None:
    assert progress_text(MetadataView(0), 1.0) == "ranks are starting"


def test_the_tools_own_summary_is_the_result() -> None:
    view = running()
    view.result = result(shift=2, ranks_per_node=2)
    record = metadata_record(view, STEP)
    assert record is not None
    create = record.operations["create"]
    assert (create.max, create.min, create.mean, create.stddev) == (50.0, 40.0, 45.0, 5.0)
    assert (
        operation_value(create, "ops") == 45.0
        and operation_value(record.operations.get("stat"), "ops") is None
    )
    assert operation_value(create, "bandwidth") is None, "it moves no data"
    assert "rank shift: 2 ranks = 1 client in each phase" in metadata_notes(record)


def test_without_a_summary_it_is_made_of_the_iterations_that_ended() -> None:
    view = running()
    for number, rate in enumerate((10.0, 20.0), start=1):
        view.end_iteration(
            MetadataIteration(
                t=0.0, step=0, operation="create", iteration=number, seconds=1.0, rate=rate
            )
        )
    record = metadata_record(view, STEP)
    assert record is not None and record.operations["create"].from_iterations
    create = record.operations["create"]
    assert (create.max, create.min, create.mean) == (
        20.0,
        10.0,
        15.0,
    ) and create.stddev == pytest.approx(7.071)
    assert any("printed no summary" in text for text in metadata_notes(record))


def test_partial_figures_of_mdtest_4_are_said_to_be_by_the_clock_of_rank_0() -> None:
    view = running()
    view.result = result(
        operations={"create": OperationResult(iterations=[10.0, 20.0], seconds=[1.0, 1.0])}
    )
    record = metadata_record(view, STEP)
    assert record is not None and "slowest rank" not in meanings(record)["meaning"]
    assert any("rank 0 only" in text for text in metadata_notes(record))
    view.result = result()
    whole = metadata_record(view, STEP)
    assert whole is not None and "slowest rank" in meanings(whole)["meaning"]


def test_a_tree_alone_is_no_measurement() -> None:
    view = running()
    view.end_iteration(
        MetadataIteration(
            t=0.0, step=0, operation="tree-create", iteration=1, seconds=1.0, rate=1.0
        )
    )
    assert metadata_record(view, STEP) is None


def test_the_table_fits_80_columns() -> None:
    big = OperationResult(
        max=2352911.0, min=2352911.0, mean=2352911.0, stddev=99999.5, iterations=[2352911.0] * 9
    )
    view = running()
    view.result = result(operations={"stat": big, "create": big})
    record = metadata_record(view, STEP)
    assert record is not None
    lines = metadata_lines(record)
    assert max(map(len, lines)) <= 80
    assert [line.split()[0] for line in lines] == [
        "operations/s",
        "create",
        "stat",
        "by",
        "create",
        "stat",
    ]
    assert lines[3].endswith("it. 5    it. 6/9")
    assert max(map(len, metadata_lines(record, 76))) <= 76
    assert metadata_lines(record, 200)[3].endswith("it. 8      it. 9")


def test_digits_are_grouped() -> None:
    view = running()
    view.result = result(
        operations={"stat": OperationResult(max=1499629.4, min=99.5, mean=12345.0, stddev=1.0)}
    )
    record = metadata_record(view, STEP)
    assert record is not None
    assert metadata_lines(record)[1].split() == ["stat", "1,499,629", "99.5", "12,345", "1"]


@pytest.mark.parametrize("name", ["main", "3.3.0", "1.9.3"])
def test_an_iteration_is_never_a_column_beside_a_maximum_that_it_exceeds(name: str) -> None:
    output = MdtestOutput()
    for line in (MDTEST / f"mdtest-{name}-profile-v.out").read_text().splitlines():
        output.line(line)
    view = running()
    view.result = result(operations=output.results(), version=output.version)
    record = metadata_record(view, STEP)
    assert record is not None
    outside = [
        rate
        for each in record.operations.values()
        for rate in each.iterations
        if each.min is not None and each.max is not None and not each.min <= rate <= each.max
    ]
    assert outside or name == "3.3.0", "rank 0 alone is another definition"
    figures, iterations = metadata_tables(record, 80)
    assert "it. 1" not in figures[0] and iterations[0].startswith("of rank 0 ")
    assert any(
        f"of rank 0: its rate x {record.tasks} ranks" in text for text in metadata_notes(record)
    )


def test_a_single_iteration_is_not_shown_again() -> None:
    view = running()
    one = OperationResult(max=50.0, min=50.0, mean=50.0, stddev=0.0, iterations=[50.2])
    view.result = result(operations={"create": one}, iterations=1)
    record = metadata_record(view, STEP)
    assert record is not None and len(metadata_tables(record, 80)) == 1


@pytest.mark.parametrize(
    ("shift", "nodes", "phases"),
    [(0, 8, "stat read remove"), (2, 2, "read"), (2, 8, None), (1, 8, "stat")],
)
def test_a_shift_to_the_same_client_is_a_warning(
    shift: int, nodes: int, phases: str | None
) -> None:
    view = MetadataView(0)
    view.result = result(shift=shift, nodes=nodes, ranks_per_node=2, tasks=2 * nodes)
    state = RunState(for_record=True)
    state.at_step(0).metadata = view
    record = StepRecord(index=0, name="x", metadata=metadata_record(view, STEP))
    plan = Plan(ProfileRef("x", 1, "", "", ""), {}, [], [STEP])
    found = rank_shift.examine(RunEvidence(plan, [], [record], JournalData(state)))
    assert [finding.scope["phases"] for finding in found] == ([phases] if phases else [])
    assert all(finding.severity == "warning" for finding in found)


def test_operations_that_move_bytes_are_reported_as_bandwidth() -> None:
    view = running()
    view.end_iteration(
        MetadataIteration(
            t=30.0,
            step=0,
            operation="write",
            iteration=1,
            seconds=2.0,
            rate=2048.0,
            bytes_per_op=1 << 20,
        )
    )
    assert rates_of(view, 1)[0] == "write 2.00 GiB/s"
    partial = metadata_record(view, STEP)
    assert (
        partial is not None and operation_value(partial.operations["write"], "bandwidth") == 2 << 30
    )
    moved = OperationResult(
        max=3072.0, min=1024.0, mean=2048.0, iterations=[1024.0, 3072.0], bytes_per_op=1 << 20
    )
    view.result = result(operations={"write": moved})
    record = metadata_record(view, STEP)
    assert record is not None
    assert metadata_lines(record)[1].split() == [
        "write",
        "3.00",
        "GiB/s",
        "1.00",
        "GiB/s",
        "2.00",
        "GiB/s",
        "–",
    ]
    assert "100 I/Os of 1 MiB per rank, 400 MiB in total" in metadata_notes(record)[0]
    step = StepRecord(index=0, name="x", state="done", metadata=record)
    attempt = PointRepetition(RUN, step)
    bandwidth = Headline("bandwidth", "write")
    assert (attempt.value(bandwidth), attempt.iterations(bandwidth)) == (
        2 << 30,
        [1 << 30, 3 << 30],
    )
    assert attempt.value(Headline("iops", "write")) == 2048.0


def test_versions_say_what_their_figures_mean() -> None:
    said = set()
    for version in ("1.9.3", "3.3.0", "4.0.0"):
        view = MetadataView(0)
        view.result = result(version=version)
        record = metadata_record(view, STEP)
        assert record is not None and record.version == version
        said.add(meanings(record)["meaning"])
    assert len(said) == 3


def test_bytes_that_a_rate_and_its_time_do_not_make_are_an_error() -> None:
    def judged(seconds: float) -> list[str]:
        view = MetadataView(0)
        each = OperationResult(
            max=200.0,
            min=100.0,
            mean=150.0,
            iterations=[100.0, 200.0],
            seconds=[4.0, seconds],
            bytes_per_op=1 << 20,
        )
        view.result = result(operations={"write": each})
        state = RunState(for_record=True)
        state.at_step(0).metadata = view
        record = StepRecord(index=0, name="x", metadata=metadata_record(view, STEP))
        plan = Plan(ProfileRef("x", 1, "", "", ""), {}, [], [STEP])
        found = iterations.examine(RunEvidence(plan, [], [record], JournalData(state)))
        return [message_of(finding) for finding in found if finding.severity == "error"]

    assert judged(2.0) == [] and judged(2.01) == [], "as far as two digits tell"
    assert judged(2.1) == [
        "write: iteration 2 moved 420 MiB (rate x time), but 400 MiB were planned"
    ]
