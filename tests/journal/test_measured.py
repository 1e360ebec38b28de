"""Whether a step measured anything, as the engine's journal and every reader of it see it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tui.journal.fold import fold_all
from tui.journal.measured import has_figures
from tui.journal.reader import parse_line, read_events
from tui.journal.state import RunState
from tui.journal.writer import Journal
from tui.model.event import (
    DirectionResult,
    DirectionSample,
    HostResult,
    MetadataIteration,
    MetadataResult,
    OperationResult,
    Sample,
    StepStarted,
    encode,
)

FigureOf = Sample | HostResult | MetadataIteration | MetadataResult
RUNS = Path(__file__).parents[1] / "data" / "runs"
WITH_JOURNAL = sorted(path.parent.name for path in RUNS.glob("*/journal.jsonl"))
NOTHING = DirectionResult(ios=8, bytes=0, runtime_s=0.0, iops=0.0, bw_bytes_per_s=0.0)
READ = DirectionResult(ios=8, bytes=32768, runtime_s=1.0, iops=8.0, bw_bytes_per_s=32768.0)


def sample(part: DirectionSample, *, phase: str = "measure", ramp: bool = False) -> Sample:
    return Sample(
        t=1.0, host="h", step=0, phase=phase, host_time_ms=1, interval_s=1.0,  # type: ignore[arg-type]
        dirs={"read": part}, ramp=ramp,
    )  # fmt: skip


def result(part: DirectionResult) -> HostResult:
    return HostResult(t=1.0, host="h", step=0, dirs={"read": part})


def operations(**found: OperationResult) -> MetadataResult:
    named = {name.replace("_", "-"): each for name, each in found.items()}
    return MetadataResult(
        t=1.0, step=0, tool="mdtest", version="4", tasks=1, nodes=1, items=1, iterations=1,
        operations=named,
    )  # fmt: skip


DONE = DirectionSample(ios=1, bytes=4096)
CASES: list[tuple[FigureOf, bool]] = [
    (sample(DONE), True),
    (sample(DirectionSample(ios=1, bytes=0, lat_sum_ns=5)), True),
    (sample(DirectionSample(ios=1, bytes=0)), False),
    (sample(DONE, ramp=True), False),
    (sample(DONE, phase="layout"), False),
    (result(READ), True),
    (result(NOTHING), False),
    (MetadataIteration(t=1.0, step=0, operation="stat", iteration=1, seconds=1.0, rate=1.0), True),
    (operations(stat=OperationResult(mean=1.0)), True),
    (operations(stat=OperationResult()), False),
    (operations(tree_create=OperationResult(mean=1.0)), False),
]


@pytest.mark.parametrize(("event", "measured"), CASES)
def test_io_that_failed_warmed_up_or_wrote_the_files_is_no_figure(
    tmp_path: Path, event: FigureOf, measured: bool
) -> None:
    assert has_figures(event) == measured
    assert fold_all(RunState(), [event]).at_step(0).measured == measured
    stamp = parse_line(encode(event).strip(), stamps=True)
    assert stamp is not None
    assert fold_all(RunState(), [stamp]).at_step(0).measured == measured
    journal = Journal(tmp_path)
    journal.append(StepStarted(t=0.0, step=0))
    journal.append(event)
    assert (journal.measured == {0}) == measured
    journal.close()


@pytest.mark.parametrize("name", WITH_JOURNAL)
def test_samples_need_not_be_decoded_whole_to_see_it(name: str) -> None:
    found = []
    for stamps in (False, True):
        run = fold_all(RunState(), read_events(RUNS / name / "journal.jsonl", stamps=stamps))
        found.append({step.index for step in run.steps.values() if step.measured})
    assert found[0] == found[1]
