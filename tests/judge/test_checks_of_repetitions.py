"""Checks of what is measured several times: repetitions, iterations, ranks."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, stdev

import pytest

from tests.samples.evidence import evidence, found, said
from tui.judge.check import RunEvidence, UnknownError
from tui.judge.wording import message_of
from tui.model.plan import Headline, Plan, Step
from tui.model.step_record import (
    MetadataRecord,
    OperationRecord,
    StepRecord,
)

MIB = 1 << 20


def repeated(*values: float) -> RunEvidence:
    at = evidence(plan={"headline": Headline("iops", "write")})
    steps = [Step(index, "s", "fio", {}, [], 60.0) for index in range(len(values))]
    records = [
        StepRecord(index=index, name="s", state="done", headline=value)
        for index, value in enumerate(values)
    ]
    plan = Plan(at.plan.profile, {}, at.plan.hosts, steps, headline=Headline("iops", "write"))
    return RunEvidence(plan, at.hosts, records, at.seen)


def test_one_measurement_says_nothing_of_repeatability() -> None:
    assert said("repetitions", repeated(100.0)) == [("info", 1)]


def test_repetitions_that_are_far_apart_are_a_warning() -> None:
    assert said("repetitions", repeated(100.0, 101.0, 99.0)) == []
    (only,) = found("repetitions", repeated(100.0, 150.0, 50.0))
    assert (only.severity, only.measured) == ("warning", 0.5)
    assert "standard deviation of repetitions is 50 % of the mean (write 100 IOPS, " in message_of(
        only
    )


def iterated(*rates: float) -> RunEvidence:
    """A metadata benchmark that ran once, with iterations."""
    at = repeated(fmean(rates))
    operations = {"create": OperationRecord(iterations=list(rates))}
    metadata = MetadataRecord(tool="mdtest", iterations=len(rates), operations=operations)
    records = [record.model_copy(update={"metadata": metadata}) for record in at.steps]
    plan = Plan(
        at.plan.profile, {}, at.plan.hosts, at.plan.steps, headline=Headline("ops", "create")
    )
    return RunEvidence(plan, at.hosts, records, at.seen)


def test_iterations_of_a_metadata_benchmark_are_its_repetitions() -> None:
    assert said("repetitions", iterated(20e3, 20.1e3, 19.9e3)) == []
    assert said("repetitions", iterated(20e3)) == [("info", 1)]
    (only,) = found("repetitions", iterated(20e3, 30e3, 10e3))
    assert (only.severity, only.measured) == ("warning", 0.5)
    assert (
        "standard deviation of iterations is 50 % of the mean (creates 20.0k ops/s, "
        in message_of(only)
    )


def alike(rate: float, bytes_per_op: int) -> RunEvidence:
    """Two iterations of an MPI program with the same rate."""
    at = iterated(rate, rate)
    operation = OperationRecord(max=rate, min=rate, mean=rate, bytes_per_op=bytes_per_op)
    metadata = MetadataRecord(tool="ior", iterations=2, operations={"write": operation})
    records = [record.model_copy(update={"metadata": metadata}) for record in at.steps]
    return RunEvidence(at.plan, at.hosts, records, at.seen)


def test_iterations_that_are_the_same_to_many_digits_are_doubted() -> None:
    (only,) = found("iterations", alike(20e3, 0))
    assert (only.severity, only.measured) == ("warning", 0.0)


def test_iterations_whose_few_digits_are_the_same_are_not() -> None:
    with pytest.raises(UnknownError):
        found("iterations", alike(130.71, 61440))  # 7.65 MiB/s


RATES = (3000.0, 4000.0, 4400.0)


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({}, False),
        ({"max": 44_000.0}, True),  # alone it makes the mean of twelve rates 6,400 or more
        ({"mean": 3050.0}, True),  # with 4,400 among twelve it is 3,117 or more
        ({"stddev": 0.0}, True),
    ],
)
def test_a_summary_is_possible_for_as_many_rates_as_there_were(
    changed: dict[str, float], named: bool
) -> None:
    whole = {"max": max(RATES), "min": min(RATES), "mean": fmean(RATES), "stddev": stdev(RATES)}
    at = summed(OperationRecord(**(whole | changed)), tasks=4)
    assert said("iterations", at)[:1] == (
        [("error", changed.get("mean", fmean(RATES)))] if named else []
    )


@pytest.mark.parametrize("name", ["max", "min", "mean"])
def test_a_summary_is_that_of_the_iterations_of_all_ranks(name: str) -> None:
    listed = OperationRecord(
        max=max(RATES), min=min(RATES), mean=fmean(RATES), iterations=list(RATES), bytes_per_op=MIB
    )
    assert said("iterations", summed(listed)) == []
    more = listed.model_copy(update={name: (getattr(listed, name) or 0.0) * 1.02})
    assert [severity for severity, _ in said("iterations", summed(more))] == ["error"]


def summed(operation: OperationRecord, tasks: int | None = None) -> RunEvidence:
    """An MPI program with three iterations and their summary."""
    at = iterated(*RATES)
    metadata = MetadataRecord(
        tool="ior",
        iterations=len(RATES),
        tasks=tasks,
        iterations_of="all ranks",
        operations={"write": operation},
    )
    records = [record.model_copy(update={"metadata": metadata}) for record in at.steps]
    return RunEvidence(at.plan, at.hosts, records, at.seen)


def ranks(write: Sequence[float], read: Sequence[float]) -> RunEvidence:
    """One MPI program over hosts h1, h2, ... whose slowest ranks took so many seconds."""
    at = iterated(100.0)
    operations = {
        name: OperationRecord(host_seconds={f"h{n}": each for n, each in enumerate(seconds, 1)})
        for name, seconds in (("write", write), ("read", read))
    }
    metadata = MetadataRecord(tool="ior", iterations=1, operations=operations)
    records = [record.model_copy(update={"metadata": metadata}) for record in at.steps]
    return RunEvidence(at.plan, at.hosts, records, at.seen)


def test_a_host_whose_ranks_keep_all_others_waiting_is_a_straggler() -> None:
    (only,) = found("straggler", ranks([4.0, 4.1, 3.9, 8.2], [4.0, 4.1, 3.9, 4.8]))
    assert (only.severity, only.scope["hosts"], only.scope["operations"]) == (
        "warning",
        "h4",
        "write",
    )
    assert only.measured == pytest.approx(4.05 / 8.2, abs=1e-4)


def test_ranks_a_tenth_of_a_second_apart_are_no_stragglers() -> None:
    assert said("straggler", ranks([0.01, 0.01, 0.09], [0.01, 0.01, 0.01])) == []


def test_without_times_of_ranks_stragglers_of_an_mpi_program_are_unknown() -> None:
    with pytest.raises(UnknownError):
        found("straggler", ranks([4.0, 8.0], []))
